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
    families,
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

FAMILIES: dict[str, families.Family] = {
    "ultralytics": families.Family(ultralytics.may_be, ultralytics.parse),
    "aitoolkit": families.Family(aitoolkit.may_be, aitoolkit.parse),
    "hf": families.Family(hf.may_be, hf.parse),
    "megatron": families.Family(megatron.may_be, megatron.parse),
    "deepspeed": families.Family(deepspeed.may_be, deepspeed.parse),
    "fairseq": families.Family(fairseq.may_be, fairseq.parse),
    "nanogpt": families.Family(nanogpt.may_be, nanogpt.parse),
    "mmengine": families.Family(mmengine.may_be, mmengine.parse),
    "examples": families.Family(examples.may_be, examples.parse),
    "trees": families.Family(trees.may_be, trees.parse),
    "ugro": families.Family(ugro.may_be, ugro.parse),
    "meters": families.Family(meters.may_be, meters.parse),
    "keras": families.Family(keras.may_be, keras.parse),
    "json": families.Family(jsonlines.may_be, jsonlines.parse),
    "generic": families.Family(generic.may_be, generic.parse),
}
"""By name, the most particular first: `generic` reads whatever is left."""
_FAMILIES = families.Families(FAMILIES)


class LogReader(reader.Reader):
    """Reads one stream of a job's text, fed in any portions; another stream may hold its bars."""

    def __init__(self, state: dict[str, object] | None = None, *, bars_of: "LogReader | None" = None) -> None:
        super().__init__(_FAMILIES, state, bars_of=bars_of)
