"""The ranks lost one another and nothing says why: who waited, and who did not come."""

from dataclasses import replace

from jobmeter.analysis import beside
from jobmeter.analysis.beside import Stop
from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, LogError, Verdict
from jobmeter.model.units import format_seconds
from jobmeter.model.view import RunView


def judge(view: RunView) -> Verdict | None:
    """Say that a collective operation did not come together, where no rank failed before."""
    error = story.root(view)
    if error is None or error.signature not in ("nccl_timeout", "nccl_error") or not facts.went_wrong(view):
        return None
    waited = [one for one in story.fatal(view) if one.signature in ("nccl_timeout", "nccl_error")]
    evidence = [facts.quoted(one, f"told{facts.on_ranks(one) or ' by a rank'}") for one in waited]
    if error.signature == "nccl_error":
        sentence = f"the ranks lost their connection{facts.on_ranks(error)}: {facts.first_line(error)}"
        return facts.verdict(Cause.NCCL_TIMEOUT, sentence, 0.6, *evidence, *facts.endings(view.run))
    endings = facts.endings(view.run)
    stop = beside.first_to_stop(view)
    if stop is not None and stop.stopped.has_recorder and stop.stopped.run.run_id != view.run.run_id:
        endings += tuple(replace(one, rank=stop.stopped.rank) for one in facts.endings(stop.stopped.run))
    return facts.verdict(Cause.NCCL_TIMEOUT, _sentence(view, error, waited, stop), 0.9, *evidence, *endings)


def _sentence(view: RunView, error: LogError, waited: list[LogError], stop: Stop | None) -> str:
    operation = f"the {error.fields['op']}" if "op" in error.fields else "a collective operation"
    number = f" (number {error.fields['seq']})" if "seq" in error.fields else ""
    seconds = error.fields.get("elapsed_seconds", error.fields.get("timeout_seconds"))
    span = f" within {format_seconds(float(seconds))}" if isinstance(seconds, int | float) else " in time"
    who = _who(view, error, waited) if stop is None else _stopped(stop)
    return f"{operation}{number} did not come together{span}{who}"


def _stopped(stop: Stop) -> str:
    """Name the rank that was lost before."""
    rank = stop.stopped
    told = "" if rank.last_step is None else f", which told step {rank.last_step} last,"
    return f": rank {rank.rank}{told} never came, the others waited"


def _who(view: RunView, error: LogError, waited: list[LogError]) -> str:
    """Name who never came: the rank at another operation, else the one that does not complain."""
    timeouts = [one for one in waited if one.signature == "nccl_timeout"]
    behind = [one for one in timeouts if _number(one) is not None and _number(one) != _highest(timeouts)]
    if behind:
        late = min(behind, key=lambda one: _number(one) or 0)
        return f": rank {late.ranks[0]} was still at number {_number(late)}" if late.ranks else ""
    complaining = {rank for one in timeouts for rank in one.ranks}
    recorded = {one.rank for one in view.ranks}
    known = recorded or set(view.run.ranks) or set(range(view.run.world_size or 0))
    silent = sorted(known - complaining)
    if complaining and 0 < len(silent) < len(known):
        listed = ", ".join(map(str, silent[:8]))
        return f": rank{'s' if len(silent) > 1 else ''} {listed} never came, the others waited"
    return f"{facts.on_ranks(error).replace(' on', ': waited for by', 1)}" if complaining else ""


def _number(error: LogError) -> int | None:
    value = error.fields.get("seq")
    return value if isinstance(value, int) else None


def _highest(timeouts: list[LogError]) -> int | None:
    return max((number for one in timeouts if (number := _number(one)) is not None), default=None)
