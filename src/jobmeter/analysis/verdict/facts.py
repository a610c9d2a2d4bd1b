"""Plain facts of a run that several judges ask for, and the words they are told in."""

from collections.abc import Iterator

from jobmeter.model.report import Cause, Evidence, LogError, Verdict
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.units import format_bytes
from jobmeter.model.view import Event, RunView

_LONGEST_QUOTE = 300
_FEW = 3
_FAR = 0.5
_ELSEWHERE = frozenset(("docker", "kubectl", "mpiexec", "mpirun", "nerdctl", "podman", "ray", "srun", "ssh"))
"""Commands whose processes may be counted by another cgroup than that of the job."""
_SHELL_BASE = 128
_OWN = "jobmeter"
_OUT_OF_MEMORY = "OUT_OF_MEMORY"
_TEXTS = frozenset(("cloudbuild", "log"))
_SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
    9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
    24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
}  # fmt: skip


def is_live(view: RunView) -> bool:
    """Tell whether the run still goes on."""
    return view.run.status in LIVE


def went_well(view: RunView) -> bool:
    """Tell whether the command itself said that all is well."""
    run = view.run
    if run.exit_code is not None or run.signal is not None:
        return run.exit_code == 0 and run.signal is None
    # of a log alone: that it came to its end counts only where nothing failed after that
    asked_for_until = run.context.get("tests_passed_at")
    until = asked_for_until if isinstance(asked_for_until, int) else 0
    return run.status is Status.COMPLETED and not any(
        _is_fatal(error) and (error.offset is None or error.offset >= until) for error in view.log_errors
    )


def _is_fatal(error: LogError) -> bool:
    return error.signature is not None and error.level != "WARNING" and not error.survived


def is_recorded(run: Run) -> bool:
    """Tell whether jobmeter itself watched the run: others are known by a log or somebody's record only."""
    return run.provenance.origin == _OWN


def is_text(run: Run) -> bool:
    """Tell whether all that is known of a run is what it printed."""
    return run.provenance.origin in _TEXTS


def accounted_state(run: Run) -> str | None:
    """Give the state that a scheduler's imported account names, in one word."""
    slurm = run.context.get("slurm")
    account = slurm if isinstance(slurm, dict) else {}
    steps = account.get("steps")
    # a step that ran out of memory says more than the row of its job, which may have been cancelled for it
    for step in steps if isinstance(steps, list | tuple) else ():
        if isinstance(step, dict) and _one_word(step.get("state")) == _OUT_OF_MEMORY:
            return _OUT_OF_MEMORY
    return _one_word(run.context.get("state") or account.get("state"))


def _one_word(state: object) -> str | None:
    return state.split(" ")[0].rstrip("+").upper() if isinstance(state, str) and state else None


def went_wrong(view: RunView) -> bool:
    """Tell whether the run is over and did not end well, or nobody knows how."""
    return not is_live(view) and not went_well(view)


def signal_name(run: Run) -> str | None:
    """Name the signal that ended the command, also where only its shell's exit status tells of it."""
    if run.signal is not None:
        return run.signal if run.signal.startswith("SIG") else f"SIG{run.signal}"
    return None if run.exit_code is None else _SIGNALS.get(run.exit_code - _SHELL_BASE)


def ending(run: Run) -> Evidence | None:
    """Say how the command ended; None where nobody knows."""
    if run.signal is not None:
        return Evidence(
            sentence=f"the command was ended by {signal_name(run)}",
            source="exit status",
            value=run.signal,
            timestamp=run.ended_at,
        )
    if run.exit_code is None:
        return None
    signal = signal_name(run)
    meaning = "" if signal is None else f", as a shell says when {signal} ended its command"
    return Evidence(
        sentence=f"the command ended with exit status {run.exit_code}{meaning}",
        source="exit status",
        value=run.exit_code,
        timestamp=run.ended_at,
    )


def endings(run: Run) -> tuple[Evidence, ...]:
    """Give how the command ended as further evidence."""
    found = ending(run)
    return () if found is None else (found,)


def events(view: RunView, kind: str) -> Iterator[Event]:
    """Go through the events of one type."""
    return (event for event in view.events if event.type == kind)


def kernel_words(view: RunView) -> tuple[Evidence, ...]:
    """Quote what the kernel logged of the job's processes."""
    return tuple(
        Evidence(
            sentence="the kernel's log says so",
            source="event kernel_message",
            timestamp=event.timestamp,
            quote=str(event.details.get("text", ""))[:_LONGEST_QUOTE],
        )
        for event in events(view, "kernel_message")
    )[:_FEW]


def number(view: RunView, key: str) -> float | None:
    """Give a number of the run's summary; None where it was not measured."""
    value = view.run.summary.get(key)
    return float(value) if isinstance(value, int | float) else None


def peak_bytes(view: RunView) -> float | None:
    """Give the most memory the job is known to have held."""
    for key in ("cgroup_mem_peak", "cgroup_outer_mem_peak"):
        if (found := number(view, key)) is not None:
            return found
    headline = view.run.headline.get("memory_peak_bytes")
    return None if headline is None else headline.value


def memory_words(view: RunView) -> str:
    """Say how much of its memory the job used; empty where neither is known."""
    peak, limit = peak_bytes(view), view.run.limits.memory_bytes
    if peak is not None and limit is not None:
        return f" at {format_bytes(peak)} of the {format_bytes(limit)} the job may use"
    if peak is not None:
        return f" at {format_bytes(peak)}"
    return f" with {format_bytes(limit)} for the job to use" if limit is not None else ""


def is_elsewhere(run: Run) -> bool:
    """Tell whether what the job started may have run in a container or on another machine."""
    words = (part for word in run.command for part in word.split())
    return any(word.rpartition("/")[2] in _ELSEWHERE for word in words)


def has_room(view: RunView) -> bool:
    """Tell whether the job was seen to come nowhere near the memory it may use."""
    peak, limit = peak_bytes(view), view.run.limits.memory_bytes
    return peak is not None and limit is not None and peak < _FAR * limit


def spare_memory(view: RunView) -> tuple[str, tuple[Evidence, ...]] | None:
    """Say that memory cannot be why a process was killed; None where it may be, or was not measured.

    The kernel counts whom it kills for want of memory: its count was read and is 0, and the job came nowhere near what
    it may use. What runs in a container or on another machine is counted there, and not here.
    """
    if is_elsewhere(view.run):
        return None
    counters = [(key, number(view, key)) for key in ("cgroup_oom_kill", "cgroup_outer_oom_kill")]
    counted = [(key, count) for key, count in counters if count is not None]
    peak, limit = peak_bytes(view), view.run.limits.memory_bytes
    if not counted or any(count for _, count in counted) or next(events(view, "oom_kill"), None):
        return None
    if peak is None or limit is None or not has_room(view):
        return None
    held = f"{format_bytes(peak)} of {format_bytes(limit)}"
    return f"the job itself did not run short of memory (peak {held}, no OOM kill counted)", (
        Evidence(sentence="the kernel counted no kill for want of memory", source=counted[0][0], value=0),
        Evidence(sentence=f"the job held {held}", source="memory_peak_bytes", value=int(peak)),
    )


def quoted(error: LogError, sentence: str) -> Evidence:
    """Quote the job's own output."""
    return Evidence(
        sentence=sentence,
        source=error.stream or "log",
        timestamp=error.timestamp,
        rank=error.ranks[0] if error.ranks else None,
        quote=whole(error),
        offset=error.offset,
    )


def first_line(error: LogError) -> str:
    """Give as much of the message's first line as fits a line or two; one that only announces has the next one too."""
    lines = [line.strip() for line in error.message.split("\n")]
    return shortened(" ".join(lines[:2] if lines[0].endswith(":") else lines[:1]))


def whole(error: LogError) -> str:
    """Give all lines of the message in one, as much as fits."""
    return shortened(" ".join(line.strip() for line in error.message.split("\n")))


def shortened(line: str) -> str:
    """Cut what is longer than a line or two."""
    line = line.strip()
    return line if len(line) <= _LONGEST_QUOTE else f"{line[: _LONGEST_QUOTE - 1]}…"


def on_ranks(error: LogError) -> str:
    """Say which ranks met it."""
    if not error.ranks:
        return ""
    if len(error.ranks) == 1:
        return f" on rank {error.ranks[0]}"
    shown = ", ".join(map(str, error.ranks[:8])) + (", ..." if len(error.ranks) > 8 else "")
    return f" on ranks {shown}"


def verdict(cause: Cause, sentence: str, confidence: float, *evidence: Evidence) -> Verdict:
    """Put a verdict together."""
    return Verdict(cause=cause, sentence=sentence, confidence=confidence, evidence=evidence)
