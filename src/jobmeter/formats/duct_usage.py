"""con-duct's usage lines, one per report: `usage.json` up to 0.17, `usage.jsonl` since, and the 0.3.0 draft.

What misleads: per-process values are maxima over the report, totals are the maximum of the sums, so the
former never add up to the latter; processes are keyed by pid alone, so a reused pid is one process; and
0.3 to 0.5 glued the state in front of the command (`Ss   sleep 1.5`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from jobmeter.formats import duct_keys, loose_json
from jobmeter.model.run import Value
from jobmeter.model.view import Window

Values = dict[tuple[str, str], Value | dict[str, int]]

_GLUED_STATE = re.compile(r"([A-Za-z][<NLsl+]*)\s+(?=\S)")
_ELAPSED = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class UsageFile:
    """The windows of one usage file, read again at each walk."""

    path: Path

    def __iter__(self) -> Iterator[Window]:
        before: float | None = None
        for window in _windows(self.path):
            if window is None:
                continue
            yield _with_span(window, before)
            before = window.timestamp


@dataclass(slots=True)
class Survey:
    """What one walk over a usage file tells of the whole run."""

    windows: int = 0
    damaged_lines: int = 0
    samples: int = 0
    first_timestamp: float | None = None
    leader: str | None = None
    """Command of the process that leads the session, by the first line."""
    most_processes: int = 0
    largest_rss: int | float | None = None
    """Of any one process: what the run needed at least, where the sum counts shared pages again."""
    keys: set[str] = field(default_factory=set)
    peaks: dict[str, int | float] = field(default_factory=dict)
    weighted: dict[str, float] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)

    def summary(self) -> dict[str, Value]:
        """Compute the statistics of the run, for where info.json is missing or empty."""
        found: dict[str, Value] = {}
        for field_name in duct_keys.FIELDS:
            definition = duct_keys.DEFINITIONS[f"ps_{field_name}_total"]
            if definition.key in self.peaks:
                found[definition.stat_key("peak")] = self.peaks[definition.key]
            if self.samples and definition.stat_key("mean") in self.weighted:
                found[definition.stat_key("mean")] = self.weighted[definition.stat_key("mean")] / self.samples
        if "psutil_pss_total" in self.peaks:
            found["psutil_peak_pss_total"] = self.peaks["psutil_pss_total"]
        if "cgroup_mem_peak" in self.peaks:
            found["cgroup_mem_peak"] = self.peaks["cgroup_mem_peak"]
        found.update(self.totals)
        return found


def survey(path: Path) -> Survey:
    """Walk a usage file once and note what its lines add up to."""
    found = Survey()
    for window in _windows(path):
        if window is None:
            found.damaged_lines += 1
            continue
        found.windows += 1
        found.samples += window.num_samples
        if found.first_timestamp is None:
            found.first_timestamp = window.timestamp
            found.leader = _leader(window)
        _note(found, window)
    return found


def _note(found: Survey, window: Window) -> None:
    processes = {instance for _, instance in window.values if instance}
    found.most_processes = max(found.most_processes, len(processes))
    for (key, instance), value in window.values.items():
        found.keys.add(key)
        if key == "ps_rss" and isinstance(value, int | float):
            found.largest_rss = max(value, found.largest_rss or 0)
        if instance or not isinstance(value, int | float):
            continue
        if key.startswith("ps_mean_"):
            found.weighted[key] = found.weighted.get(key, 0.0) + value * window.num_samples
        elif key == "ps_cputime_total":
            found.totals[key] = found.totals.get(key, 0.0) + value
        else:
            found.peaks[key] = max(found.peaks.get(key, value), value)


def _leader(window: Window) -> str | None:
    commands = {pid: str(value) for (key, pid), value in window.values.items() if key == "ps_cmd"}
    leaders = [
        pid
        for (key, pid), states in window.values.items()
        if key == "ps_stat" and pid in commands and isinstance(states, dict) and any("s" in s for s in states)
    ]
    # con-duct writes processes in no order; without states the lowest pid is the oldest, short of a wrap
    by_age = leaders or sorted(commands, key=lambda pid: (len(pid), pid))
    return commands[by_age[0]] if by_age else None


def _windows(path: Path) -> Iterator[Window | None]:
    with path.open("rb") as file:
        for line in file:
            if line.strip():
                yield parse_line(line)


def _with_span(window: Window, before: float | None) -> Window:
    # con-duct kept no monotonic clock; a counter's span is told by the stamps of its lines
    if before is None or ("ps_cputime_total", "") not in window.values:
        return window
    return Window(
        timestamp=window.timestamp,
        num_samples=window.num_samples,
        clock={"ps": (before, window.timestamp)},
        values=window.values,
    )


def parse_line(line: bytes) -> Window | None:
    """Read one report; None where the line is torn or is no report."""
    record = loose_json.parse_object(line)
    if record is None:
        return None
    timestamp = moment(record.get("timestamp"))
    samples = loose_json.whole(record.get("num_samples"))
    if timestamp is None or samples is None or samples < 0:
        return None
    if "measurements" in record:
        values = _draft_values(loose_json.mapping(record["measurements"]))
    elif "processes" in record:
        values = _classic_values(record, samples)
    else:
        return None
    return Window(timestamp=timestamp, num_samples=samples, clock={}, values=values)


def moment(value: object) -> float | None:
    """Read con-duct's ISO time; all releases wrote the zone."""
    try:
        stamp = datetime.fromisoformat(loose_json.text(value) or "")
        return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def elapsed_seconds(value: object) -> int | None:
    """Read the age that ps prints: `[[days-]hours:]minutes:seconds`."""
    found = _ELAPSED.fullmatch(loose_json.text(value) or "")
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _classic_values(record: dict[str, object], samples: int) -> Values:
    values: Values = {}
    for pid, process in loose_json.mapping(record.get("processes")).items():
        values.update(_process_values(pid, loose_json.mapping(process), samples))
    totals, averages = loose_json.mapping(record.get("totals")), loose_json.mapping(record.get("averages"))
    for field_name in duct_keys.FIELDS:
        definition = duct_keys.DEFINITIONS[f"ps_{field_name}_total"]
        peak, mean = loose_json.number(totals.get(field_name)), loose_json.number(averages.get(field_name))
        if peak is not None:
            values[definition.key, ""] = peak
        if mean is not None:
            values[definition.stat_key("mean"), ""] = mean
    return values


def _process_values(pid: str, process: dict[str, object], samples: int) -> Values:
    values: Values = {}
    for field_name in duct_keys.FIELDS:
        value = loose_json.number(process.get(field_name))
        if value is not None:
            values[f"ps_{field_name}", pid] = value
    elapsed = elapsed_seconds(process.get("etime"))
    if elapsed is not None:
        values["ps_etime", pid] = elapsed
    command, states = _command_and_states(process, samples)
    if states:
        values["ps_stat", pid] = states
    if command is not None:
        values["ps_cmd", pid] = command
    return values


def _command_and_states(process: dict[str, object], samples: int) -> tuple[str | None, dict[str, int]]:
    command = loose_json.text(process.get("cmd"))
    if command is None or "stat" in process:
        counts = {state: loose_json.whole(n) for state, n in loose_json.mapping(process.get("stat")).items()}
        return command, {state: n for state, n in counts.items() if n is not None}
    glued = _GLUED_STATE.match(command)
    if glued is None:
        return command, {}
    # only the first state was kept: it is the whole tally where there was one sample
    return command[glued.end() :], {glued.group(1): 1} if samples == 1 else {}


def _draft_values(measurements: dict[str, object]) -> Values:
    values: Values = {}
    for theirs, ours in duct_keys.DRAFT_WINDOW.items():
        given = measurements.get(theirs)
        instances = given.items() if isinstance(given, dict) else (("", given),)
        for instance, raw in instances:
            value = _draft_value(ours, raw)
            if value is not None:
                values[ours, str(instance)] = value
    return values


def _draft_value(key: str, raw: object) -> Value | None:
    if key == "ps_cmd":
        return loose_json.text(raw)
    if key in duct_keys.DRAFT_CORES:
        cores = loose_json.number(raw)
        return None if cores is None else cores * 100
    if key == "ps_cputime_total":
        return loose_json.number(raw)
    return loose_json.whole(raw)
