"""The summary a person or a program reads on stderr when the job has ended."""

from jobmeter.runfolder import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.recording.outcome import Records

    Record = dict[str, object]

_COLUMNS, _TEXT_COLUMNS = 80, 34


def _mapping(value: object) -> "Record":
    return value if isinstance(value, dict) else {}


def summary_json(records: "Records") -> str:
    """Render the summary for machines: one line."""
    start, end = records.start, records.end
    chosen = (
        "status",
        "exit_code",
        "signal",
        "wall_seconds",
        "samples",
        "summary",
        "by_command",
        "inexact",
        "dropped",
    )
    return jsontext.mapping(
        {
            "run_id": start["run_id"],
            "job_id": start["job_id"],
            "headline": records.headlines,
            "limits": records.context.get("limits", {}),
            **{key: end[key] for key in chosen if key in end},
        }
    )


def summary_text(records: "Records") -> str:
    """Render the summary for people: what was used, how sure that is, where it comes from."""
    from jobmeter.model.units import format_seconds

    context, end, headlines = records.context, records.end, records.headlines
    wall = _float(end["wall_seconds"])
    ended = str(end["signal"] or ("exit unknown" if end["exit_code"] is None else f"exit {end['exit_code']}"))
    first = f"jobmeter: {end['status']} ({ended}) after {format_seconds(wall)}"
    rows = [
        *_cpu_row(_mapping(headlines.get("cpu_seconds")), context, wall),
        *_memory_row(_mapping(headlines.get("memory_peak_bytes")), context),
        *_io_row(headlines),
        *_who_row(end, headlines),
        *_warning_rows(end),
    ]
    lines = [line for row in rows for line in _lines(*row)]
    return "\n".join([first, *lines, f"  {'run':<8} {records.start['run_id']}"])


def _lines(name: str, text: str, source: str) -> list[str]:
    """Lay one row out in 80 columns: the source beside the number if there is room, else below it."""
    if not source:
        return [f"  {name:<8} {text}"]
    if len(text) <= _TEXT_COLUMNS and len(source) <= _COLUMNS - _TEXT_COLUMNS - 13:
        return [f"  {name:<8} {text:<{_TEXT_COLUMNS}}  {source}"]
    return [f"  {name:<8} {text}", f"  {'':<8} {source}"]


def _cpu_row(cpu: "Record", context: "Record", wall: float) -> list[tuple[str, str, str]]:
    from jobmeter.model.units import format_seconds

    if not cpu:
        return []
    value = _float(cpu["value"])
    allowed = _mapping(context.get("limits")).get("cpus")
    cores = f"{value / wall:.2f} cores" if wall > 0 else ""
    of = f" of {allowed:g}" if isinstance(allowed, int | float) and cores else ""
    return [("CPU", f"{format_seconds(value)}, {cores}{of}", _source(cpu))]


def _memory_row(memory: "Record", context: "Record") -> list[tuple[str, str, str]]:
    from jobmeter.model.units import format_bytes, format_percent

    if not memory:
        return []
    value, low, high = (_float(memory[name]) for name in ("value", "low", "high"))
    text = f"{format_bytes(value)} peak" if low else f"at most {format_bytes(high)}"
    limits = _mapping(context.get("limits"))
    allowed = limits.get("memory_bytes")
    if isinstance(allowed, int) and allowed:
        text += f" of {format_bytes(allowed)} ({format_percent(100 * value / allowed)})"
    rows = [("memory", text, _source(memory))]
    if not memory["exact"] and low and (high > value * 1.02 or low < value * 0.98):
        rows.append(("", f"between {format_bytes(low)} and {format_bytes(high)}", ""))
    return rows


def _io_row(headlines: "Record") -> list[tuple[str, str, str]]:
    from jobmeter.model.units import format_bytes

    read, wrote = (_mapping(headlines.get(name)) for name in ("io_read_bytes", "io_write_bytes"))
    if not read or not wrote:
        return []
    text = f"read {format_bytes(_float(read['value']))}, wrote {format_bytes(_float(wrote['value']))}"
    keys = [*_words(read["keys"]), *_words(wrote["keys"])]
    return [("IO", text, ", ".join(keys))]


def _who_row(end: "Record", headlines: "Record") -> list[tuple[str, str, str]]:
    from jobmeter.model.units import format_percent

    shares, cpu = end.get("by_command"), _mapping(headlines.get("cpu_seconds"))
    total = _float(cpu.get("value", 0.0))
    if not isinstance(shares, list) or not shares or total <= 0:
        return []
    parts = []
    for share in shares[:3]:
        percent = 100 * _float(share["cpu_seconds"]) / total
        if percent >= 0.5:
            parts.append(f"{_printable(str(share['command']))} {format_percent(min(percent, 100))}")
    seen = sum(_float(share["cpu_seconds"]) for share in shares)
    unseen = max(0.0, 100 * (1 - seen / total))
    if unseen >= 0.5:
        parts.append(f"{format_percent(unseen)} not seen by sampling")
    return [("who", ", ".join(parts), "proc_cputime")] if parts else []


def _warning_rows(end: "Record") -> list[tuple[str, str, str]]:
    rows = [("inexact", reason, key) for key, reason in _mapping(end.get("inexact")).items()]
    left = end.get("processes_left")
    if isinstance(left, list) and left:
        names = ", ".join(f"{_printable(str(one['command']))} ({one['pid']})" for one in left[:3])
        rows.append(("left", f"{len(left)} still running: {names}", "--wait-for-children waits for them"))
    dropped = _mapping(end.get("dropped"))
    if dropped:
        lost = ", ".join(f"{count} of {name}" for name, count in dropped.items())
        rows.append(("dropped", f"{lost}: the disk did not take them", ""))
    return [(name, str(text), source) for name, text, source in rows]


def _source(figures: "Record") -> str:
    keys = " - ".join(_words(figures["keys"]))
    return (
        keys
        if figures["exact"]
        else f"{keys} (bounded)"
        if figures["low"] != figures["high"]
        else f"{keys} (inexact)"
    )


def _words(value: object) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list | tuple) else []


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _printable(text: str) -> str:
    """Show a name without letting it speak to the terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)
