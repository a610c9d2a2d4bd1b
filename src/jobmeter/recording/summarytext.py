"""The summary a person or a program reads on stderr when the job has ended."""

from jobmeter.runfolder import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmeter.recording.outcome import Records

    Record = dict[str, object]

COLUMNS = 80
_INDENT = 11
"""Where the text begins: two spaces, a name of eight, one more."""


class Row:
    """One line of the summary: a name, what there is to say, the key it comes from, and what it means more closely."""

    __slots__ = ("name", "notes", "source", "text")

    def __init__(self, name: str, text: str, source: str = "", notes: tuple[str, ...] = ()) -> None:
        self.name = name
        self.text = text
        self.source = source
        self.notes = notes


def _mapping(value: object) -> "Record":
    return value if isinstance(value, dict) else {}


def summary_json(records: "Records") -> str:
    """Render the summary for machines: one line."""
    start, end = records.start, records.end
    chosen = (
        "status",
        "exit_code",
        "signal",
        "ended_by",
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
            **({} if (seconds := _time_limit(records)) is None else {"timeout_seconds": seconds}),
            **{key: end[key] for key in chosen if key in end},
        }
    )


def summary_text(
    records: "Records",
    columns: int = COLUMNS,
    steps: "Mapping[str, str] | None" = None,
    home: str | None = None,
) -> str:
    """Render the summary for people: what was used, how sure that is, where it comes from."""
    from jobmeter.model.units import format_seconds

    context, end, headlines = records.context, records.end, records.headlines
    wall = _float(end["wall_seconds"])
    ended = str(end["signal"] or ("exit unknown" if end["exit_code"] is None else f"exit {end['exit_code']}"))
    first = f"jobmeter: {end['status']} ({ended}) after {format_seconds(wall)}{_reason(records)}"
    rows = [
        *[Row(name, _printable(said)) for name, said in (steps or {}).items()],
        *_cpu_row(_mapping(headlines.get("cpu_seconds")), context, wall),
        *_memory_row(_mapping(headlines.get("memory_peak_bytes")), context),
        *_oom_row(_mapping(end["summary"])),
        *_io_row(headlines),
        *_gpu_row(headlines, _mapping(end["summary"])),
        *_energy_row(headlines, _mapping(end["summary"]), context),
        *_who_row(end, headlines),
        *_warning_rows(end),
        *_why_row(end, str(records.start["run_id"]), home),
        Row("run", str(records.start["run_id"])),
    ]
    beside = _source_column(rows, columns)
    return "\n".join([first, *[line for row in rows for line in _lines(row, beside, columns)]])


def _reason(records: "Records") -> str:
    """Say that the job did not end by itself: a signal alone could be anybody's."""
    from jobmeter.model.units import format_seconds

    if records.end.get("ended_by") != "timeout":
        return ""
    seconds = _time_limit(records)
    of = "" if seconds is None else f" of {format_seconds(seconds)}"
    return f": the time limit{of} (--timeout) ended it"


def _time_limit(records: "Records") -> float | None:
    given = _mapping(records.context.get("options")).get("timeout")
    return given if isinstance(given, int | float) else None


def _why_row(end: "Record", run_id: str, home: str | None) -> list[Row]:
    """Name the command that explains a run that went wrong; `last` may be another run by then."""
    if end["status"] not in ("failed", "killed"):
        return []
    given = "" if home is None else f" --home {_quoted(home)}"
    return [Row("why", f"jobmeter analyze {run_id}{given}")]


def _quoted(word: str) -> str:
    """Write a word so that a shell takes it as one."""
    if all(char.isalnum() or char in "/._-+:@%" for char in word):
        return word
    return "'" + _printable(word).replace("'", "'\\''") + "'"


def _source_column(rows: list[Row], columns: int) -> int:
    """Find the widest text that leaves room for every source beside it; wider ones have theirs below."""
    widths = sorted({len(row.text) for row in rows if row.source}, reverse=True)
    for width in widths:
        sources = [len(row.source) for row in rows if row.source and len(row.text) <= width]
        if _INDENT + width + 2 + max(sources) <= columns:
            return width
    return 0


def _lines(row: Row, beside: int, columns: int) -> list[str]:
    if row.source and len(row.text) <= beside:
        first = [f"{row.text:<{beside}}  {row.source}"]
    else:
        below = [row.source] if row.source else []
        first = [*_wrap(row.text, columns - _INDENT), *below]
    texts = [*first, *[line for note in row.notes for line in _wrap(note, columns - _INDENT)]]
    names = [row.name] + [""] * (len(texts) - 1)
    return [f"  {name:<8} {text}" for name, text in zip(names, texts, strict=True)]


def _wrap(text: str, width: int) -> list[str]:
    """Break a text at its spaces; a longer word stays whole."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _cpu_row(cpu: "Record", context: "Record", wall: float) -> list[Row]:
    from jobmeter.model.units import format_cores, format_seconds, mean_cores

    if not cpu:
        return []
    value = _float(cpu["value"])
    allowed = _mapping(context.get("limits")).get("cpus")
    mean = mean_cores(value, wall)
    cores = "" if mean is None else f", {format_cores(mean)} cores"
    of = f" of {allowed:g}" if isinstance(allowed, int | float) and cores else ""
    return [Row("CPU", f"{format_seconds(value)}{cores}{of}", _source(cpu))]


def _memory_row(memory: "Record", context: "Record") -> list[Row]:
    from jobmeter.model.units import format_bytes, format_percent

    if not memory:
        return []
    value, low, high = (_float(memory[name]) for name in ("value", "low", "high"))
    text = f"{format_bytes(value)} peak" if low else f"at most {format_bytes(high)}"
    limits = _mapping(context.get("limits"))
    allowed = limits.get("memory_bytes")
    if isinstance(allowed, int) and allowed:
        text += f" of {format_bytes(allowed)} ({format_percent(100 * value / allowed)})"
    if memory["exact"] or not low or (high <= value * 1.02 and low >= value * 0.98):
        return [Row("memory", text, _source(memory))]
    between = f"between {format_bytes(low)} and {format_bytes(high)}"
    return [Row("memory", text, " - ".join(_words(memory["keys"])), (between,))]


def _oom_row(summary: "Record") -> list[Row]:
    from jobmeter.model.units import format_count

    places = {"cgroup_oom_kill": "the job", "cgroup_outer_oom_kill": "the cgroup around the job"}
    for key, place in places.items():
        kills = _float(summary.get(key))
        if kills:
            return [Row("OOM", f"{format_count(kills)} killed: {place} reached its memory limit", key)]
    return []


def _io_row(headlines: "Record") -> list[Row]:
    from jobmeter.model.units import format_bytes

    read, wrote = (_mapping(headlines.get(name)) for name in ("io_read_bytes", "io_write_bytes"))
    if not read or not wrote:
        return []
    text = f"read {format_bytes(_float(read['value']))}, wrote {format_bytes(_float(wrote['value']))}"
    keys = [*_words(read["keys"]), *_words(wrote["keys"])]
    return [Row("IO", text, ", ".join(keys))]


def _gpu_row(headlines: "Record", summary: "Record") -> list[Row]:
    from jobmeter.model.units import format_bytes, format_percent

    util, memory = (_mapping(headlines.get(name)) for name in ("gpu_util_percent", "gpu_memory_peak_bytes"))
    parts = []
    if util:
        parts.append(f"{format_percent(_float(util['value']))} busy")
    if memory:
        parts.append(f"{format_bytes(_float(memory['value']))} peak")
    if not parts:
        return []
    keys = [*_words(util.get("keys")), *_words(memory.get("keys"))]
    name = next((str(summary[key]) for key in ("nvml_name", "nvsmi_name", "rocm_name") if key in summary), "")
    return [Row("GPU", ", ".join(parts), ", ".join(keys), (_printable(name),) if name else ())]


def _energy_row(headlines: "Record", summary: "Record", context: "Record") -> list[Row]:
    from jobmeter.aggregation import energy

    figures = _mapping(headlines.get("energy_joules"))
    price = _mapping(context.get("options")).get("energy_price")
    if not figures:
        return []
    account = energy.account(summary, price if isinstance(price, str) else None)  # type: ignore[arg-type]  # plain values
    return [Row("energy", energy.sentence(account or {}), _source(figures))]


def _who_row(end: "Record", headlines: "Record") -> list[Row]:
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
    # only the largest are listed: what all of them used stands in the summary
    listed = sum(_float(share["cpu_seconds"]) for share in shares)
    unseen = 100 * (1 - max(listed, _float(_mapping(end["summary"]).get("proc_cputime_total"))) / total)
    note = f"{format_percent(unseen)} not seen by sampling"
    if unseen < 0.5:
        return [Row("who", ", ".join(parts), "proc_cputime")]
    return (
        [Row("who", ", ".join(parts), "proc_cputime", (note,))]
        if parts
        else [Row("who", note, "proc_cputime")]
    )


def _warning_rows(end: "Record") -> list[Row]:
    rows = [Row("inexact", str(reason), key) for key, reason in _mapping(end.get("inexact")).items()]
    left = end.get("processes_left")
    if isinstance(left, list) and left:
        names = ", ".join(f"{_printable(str(one['command']))} ({one['pid']})" for one in left[:3])
        more = ", ..." if len(left) > 3 else ""
        waits = "--wait-for-children waits for them" if len(left) > 1 else "--wait-for-children waits for it"
        rows.append(Row("left", f"{len(left)} still running: {names}{more}", notes=(waits,)))
    dropped = _mapping(end.get("dropped"))
    if dropped:
        lost = ", ".join(f"{count} of {name}" for name, count in dropped.items())
        rows.append(Row("dropped", f"{lost}: the disk did not take them"))
    return rows


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
