"""Build the ranks of a job as analysis sees them: one recorder each, with steps by the clock of its own host."""

from dataclasses import dataclass, replace

from jobmeter.model.rank import RankFacts
from jobmeter.model.report import LogError
from jobmeter.model.run import Run, Status
from jobmeter.model.view import RunView
from support import curves

STARTED = curves.STARTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """How one rank lived."""

    steps: int = 100
    seconds: float = 0.1
    """That each step takes."""
    lived_on: float = 0.0
    """Seconds from the last step to the end."""
    status: Status = Status.COMPLETED
    exit_code: int | None = None
    signal: str | None = None
    host: str | None = None
    clock: float = 0.0
    """How far the host's clock is ahead."""
    waits: float | None = None
    """Seconds of every step that it waited for data."""
    source: str = "sdk"


def facts(rank: int, life: Life) -> RankFacts:
    """Build what is known of one rank."""
    end = STARTED + life.clock + life.steps * life.seconds + life.lived_on
    run = Run(
        run_id=f"run-{rank}",
        job_id="job",
        status=life.status,
        command=("train",),
        ranks=(rank,),
        exit_code=life.exit_code,
        signal=life.signal,
        started_at=STARTED + life.clock,
        ended_at=end,
        host=life.host,
    )
    if not life.steps:
        return RankFacts(rank=rank, run=run, ended_at=end)
    told = {} if life.waits is None else {"data_time": [life.waits] * life.steps}
    times = [life.clock + (place + 1) * life.seconds for place in range(life.steps)]
    (table,) = curves.training(times, rank=rank, source=life.source, **told).tables
    return RankFacts(
        rank=rank,
        run=run,
        source=life.source,
        tables=(table,),
        count=life.steps,
        last_step=life.steps,
        last_at=STARTED + times[-1],
        advanced=life.steps - 1,
        advancing_seconds=times[-1] - times[0],
        ended_at=end,
    )


def job(*lives: Life, errors: tuple[LogError, ...] = ()) -> RunView:
    """Build a job of one recorder a rank, seen from its first."""
    known = tuple(facts(rank, life) for rank, life in enumerate(lives))
    plain = replace(curves.run(), run=known[0].run, siblings=tuple(one.run for one in known[1:]))
    return replace(plain, ranks=known, log_errors=errors)


def waiting(*ranks: int) -> LogError:
    """Build the complaint of ranks that waited in vain."""
    return LogError(
        level="ERROR", type="nccl_timeout", message="timed out", signature="nccl_timeout", ranks=ranks
    )
