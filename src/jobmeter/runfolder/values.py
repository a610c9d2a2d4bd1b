"""Fields of a run's records as values of the model; what has another shape than expected is absent."""

from jobmeter.model.run import CommandShare, Limits, Output, Value
from jobmeter.model.steps import as_json
from jobmeter.runfolder import lines


def tags(raw: object) -> dict[str, str]:
    """Take tags as names with values, or as the list of words that trackers know."""
    if isinstance(raw, list):
        return {str(word): "true" for word in raw}
    return {str(key): str(value) for key, value in lines.mapping(raw).items()}


def results(summary: lines.Record) -> dict[str, Value]:
    """Keep what a job said it came to: numbers and words; a number that is not finite by its word."""
    found: dict[str, Value] = {}
    for key, value in summary.items():
        if isinstance(value, str):
            found[key] = value
        elif isinstance(value, int | float):
            found[key] = as_json(value)
    return found


def command(raw: object) -> tuple[str, ...]:
    """Take the words of a command line."""
    return tuple(str(word) for word in raw) if isinstance(raw, list) else ()


def values(raw: object) -> dict[str, Value]:
    """Keep numbers and words."""
    found: dict[str, Value] = {}
    for key, value in lines.mapping(raw).items():
        kept = value if isinstance(value, str) else lines.number(value)
        if kept is not None:
            found[key] = kept
    return found


def counts(raw: object) -> dict[str, int]:
    """Keep whole numbers."""
    return {key: n for key, value in lines.mapping(raw).items() if (n := lines.whole(value)) is not None}


def reasons(raw: object) -> dict[str, str]:
    """Keep every value as a sentence."""
    return {key: str(value) for key, value in lines.mapping(raw).items()}


def limits(raw: object) -> Limits:
    """Take what the job was allowed."""
    found = lines.mapping(raw)
    return Limits(memory_bytes=lines.whole(found.get("memory_bytes")), cpus=lines.number(found.get("cpus")))


def _rows(raw: object) -> list[lines.Record]:
    return [row for row in raw if isinstance(row, dict)] if isinstance(raw, list) else []


def shares(raw: object) -> tuple[CommandShare, ...]:
    """Take what each command used."""
    return tuple(
        CommandShare(
            command=str(row["command"]),
            cpu_seconds=lines.number(row.get("cpu_seconds")),
            peak_rss_bytes=lines.whole(row.get("peak_rss_bytes")),
            processes=lines.whole(row.get("processes")),
        )
        for row in _rows(raw)
        if "command" in row
    )


def outputs(raw: object) -> tuple[Output, ...]:
    """Take where each stream went."""
    return tuple(
        Output(
            stream=str(row["stream"]),
            mode=str(row.get("mode", "captured")),
            path=str(row.get("path", row["stream"])),
            offset=lines.whole(row.get("offset")) or 0,
            end=lines.whole(row.get("end")),
            crc32=lines.whole(row.get("crc32")),
        )
        for row in _rows(raw)
        if "stream" in row
    )
