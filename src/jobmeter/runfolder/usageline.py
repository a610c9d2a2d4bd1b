"""Encode one line of `usage.jsonl`; called at every sample, so it does no more than it must."""

from jobmeter.runfolder import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Value = int | float | str | dict[str, int]


def encode(
    stamp: str,
    num_samples: int,
    clock: "Mapping[str, tuple[float, float]]",
    values: "Mapping[tuple[str, str], Value]",
) -> str:
    """Render a window: when it was, what time each source covers, and its values by key and instance."""
    return line(stamp, num_samples, clock, measurements(values))


def line(stamp: str, num_samples: int, clock: "Mapping[str, tuple[float, float]]", rendered: str) -> str:
    """Put the times of a window in front of its values."""
    spans = ", ".join([f'"{source}": [{begin:.6f}, {end:.6f}]' for source, (begin, end) in clock.items()])
    return (
        f'{{"timestamp": "{stamp}", "num_samples": {num_samples}, "clock": {{{spans}}}, '
        f'"measurements": {{{rendered}}}}}'
    )


def measurements(values: "Mapping[tuple[str, str], Value]") -> str:
    """Render the values of a window by key and instance."""
    plain: list[str] = []
    by_key: dict[str, list[str]] = {}
    for (key, instance), value in values.items():
        text = value if type(value) is int else jsontext.dumps(value)
        if instance:
            by_key.setdefault(key, []).append(f"{jsontext.quote(instance)}: {text}")
        else:
            # keys are lower-case words joined by _: nothing in them needs escaping
            plain.append(f'"{key}": {text}')
    plain += [f'"{key}": {{{", ".join(items)}}}' for key, items in by_key.items()]
    return ", ".join(plain)
