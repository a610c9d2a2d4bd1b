"""What is written at the end: the `end` record and `info.json`."""

import os

import jobmeter
from jobmeter.aggregation import headline
from jobmeter.config import signals as signal_names
from jobmeter.runfolder import jsontext, writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.recording.supervise import Ending

    Record = dict[str, object]

_NOT_FOR_PEOPLE = ("type", "timestamp", "measurements")
_CANCELLING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL")


def status(ending: "Ending") -> str:
    """Name how the run ended."""
    forwarded = [signal_names.name(number) for number in ending.forwarded]
    if (
        ending.timed_out
        or ending.from_terminal
        or (ending.exit_code != 0 and any(name in _CANCELLING for name in forwarded))
    ):
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
        **({"ended_by": "timeout"} if ending.timed_out else {}),
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
        "working_directory": start.get("cwd", ""),
        "num_samples": end["samples"],
        **_mapping(end["summary"]),
    }
    merged["output_paths"] = {
        name: os.path.join(folder, name) for name in ("stdout", "stderr", "usage.jsonl", "info.json")
    }
    return jsontext.mapping(merged) + "\n"


def _mapping(value: object) -> "Record":
    return value if isinstance(value, dict) else {}


def headlines_of(facts: "Record") -> "Record":
    """Derive the headline numbers as plain values."""
    return dict(headline.headlines(_mapping(facts["summary"]), _mapping(facts.get("inexact"))))  # type: ignore[arg-type]  # plain values only
