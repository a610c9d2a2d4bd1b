"""Steps out of any training log, live or imported: one family of lines per file, tried in the order below.

A family is a function from a line, and what the lines before it said, to a row of metrics. Bars are found within
lines and read apart, because they are redrawn. What misleads: most numbers in a log are no steps; a family that is
not sure gives nothing.
"""

from jobmeter.formats.steplines import (
    aitoolkit,
    deepspeed,
    examples,
    fairseq,
    generic,
    hf,
    jsonlines,
    keras,
    megatron,
    meters,
    mmengine,
    nanogpt,
    reader,
    trees,
    ugro,
    ultralytics,
)

PARSERS: dict[str, reader.Parser] = {
    "ultralytics": ultralytics.parse,
    "aitoolkit": aitoolkit.parse,
    "hf": hf.parse,
    "megatron": megatron.parse,
    "deepspeed": deepspeed.parse,
    "fairseq": fairseq.parse,
    "nanogpt": nanogpt.parse,
    "mmengine": mmengine.parse,
    "examples": examples.parse,
    "trees": trees.parse,
    "ugro": ugro.parse,
    "meters": meters.parse,
    "keras": keras.parse,
    "json": jsonlines.parse,
    "generic": generic.parse,
}
"""By name, the most particular first: `generic` reads whatever is left."""


class LogReader(reader.Reader):
    """Reads one stream of a job's text, fed in any portions; another stream may hold its bars."""

    def __init__(self, state: dict[str, object] | None = None, *, bars_of: "LogReader | None" = None) -> None:
        super().__init__(PARSERS, state, bars_of=bars_of)
