"""What is said at the end: the `end` record, `info.json`, and the summary people see."""

import os

import jobmeter
from jobmeter.aggregation import headline
from jobmeter.config import signals as signal_names
from jobmeter.runfolder import jsontext, writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.recording.outcome import Records
    from jobmeter.recording.supervise import Ending

    Record = dict[str, object]

_NOT_FOR_PEOPLE = ("type", "timestamp", "measurements")
_CANCELLING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL")


def status(ending: "Ending") -> str:
    """Name how the run ended."""
    forwarded = [signal_names.name(number) for number in ending.forwarded]
    if ending.timed_out or (ending.exit_code != 0 and any(name in _CANCELLING for name in forwarded)):
        return "cancelled"
    if ending.signal is not None:
        return "killed"
    return "completed" if ending.exit_code == 0 else "failed"


def end_record(ending: "Ending", *, began: float, state: str, facts: "Record") -> "Record":
    """Build the last record of `run.jsonl`."""
    signal = ending.signal
    return {
        "type": "end",
        "timestamp": writer.timestamp(ending.wall),
        "status": state,
        "exit_code": ending.exit_code,
        "signal": None if signal is None else signal_names.name(signal),
        "ended_at": writer.timestamp(ending.wall),
        "wall_seconds": round(ending.at - began, 6),
        **facts,
    }


def info(start: "Record", context: "Record", end: "Record", headlines: "Record", folder: str) -> str:
    """Render `info.json`: everything known, with the summary where readers of con-duct's file look for it."""
    merged = {key: value for key, value in {**start, **context, **end}.items() if key not in _NOT_FOR_PEOPLE}
    command = start.get("command")
    merged["jobmeter_version"] = jobmeter.__version__
    merged["headline"] = headlines
    merged["execution_summary"] = {
        "exit_code": end["exit_code"],
        "command": " ".join(str(word) for word in command) if isinstance(command, list) else "",
        "wall_clock_time": end["wall_seconds"],
        "start_time": start["started_at"],
        "end_time": end["ended_at"],
        "working_directory": start["cwd"],
        "num_samples": end["samples"],
        **_mapping(end["summary"]),
    }
    merged["output_paths"] = {
        name: os.path.join(folder, name) for name in ("stdout", "stderr", "usage.jsonl", "info.json")
    }
    return jsontext.mapping(merged) + "\n"


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
    ended = str(end["signal"] or f"exit {end['exit_code']}")
    first = f"jobmeter: {end['status']} ({ended}) after {format_seconds(wall)}"
    rows = [
        *_cpu_row(_mapping(headlines.get("cpu_seconds")), context, wall),
        *_memory_row(_mapping(headlines.get("memory_peak_bytes")), context),
        *_io_row(headlines),
        *_who_row(end, headlines),
        *_warning_rows(end),
    ]
    width = max((len(row[1]) for row in rows), default=0)
    lines = [f"  {name:<8} {text:<{min(width, 60)}}  {source}".rstrip() for name, text, source in rows]
    return "\n".join([first, *lines, f"  {'run':<8} {records.start['run_id']}"])


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
    if low and not memory["exact"] and high > value * 1.02:
        text += f", between {format_bytes(low)} and {format_bytes(high)}"
    return [("memory", text, _source(memory))]


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


def headlines_of(facts: "Record") -> "Record":
    """Derive the headline numbers as plain values."""
    return dict(headline.headlines(_mapping(facts["summary"]), _mapping(facts.get("inexact"))))  # type: ignore[arg-type]  # plain values only
