"""The index of run folders: one contract, several back ends, each a cache that can be thrown away.

`memory` is the readable specification. Rows and the file offsets that brought them are committed together
(`append`), so that bytes are indexed exactly once however often indexing is tried, killed or raced.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from jobmeter.errors import StoreError, UsageError
from jobmeter.model.query import Facet, RunPage, RunQuery, Total
from jobmeter.model.run import Run, Status, Value
from jobmeter.model.steps import Number, Step, StepTable
from jobmeter.model.stretches import StepClock, StepStretches, Stretches
from jobmeter.model.view import Event, Process, Series, Window

MOST_FACETS = 100
"""How many values of a field are counted apart unless told otherwise: the most frequent."""
PROCESS_WINDOWS = 10
"""A process seen in fewer windows is a row, not a set of series."""


class BusyError(StoreError):
    """Another process is writing the index; what it holds can still be read."""


class DamagedError(StoreError):
    """The index is not what was written; throw it away and build it again."""


class ReadOnlyError(StoreError):
    """The index was written by a newer jobmeter: it can be read, not added to."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a file of a run has been indexed, and how many of its lines were no records."""

    offset: int
    bad_lines: int = 0
    state: str = ""
    """What a reader of text must know to go on from here, as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one look at a run folder brought."""

    run: Run
    final: bool
    """The run cannot change any more; the last batch of a run says so."""
    fields: Mapping[str, object]
    """The run's named fields, less its summary: what filters and sorting ask.

    Kept as `paging.tidied` makes them: text of Unicode without NUL, cut where it is longer than a column takes; finite
    numbers of 64 bits. `id` and `started` are the run's own whatever they say. What `paging.TEXTS` names is text, what
    `paging.NUMBERS` does is a number.
    """
    job_key: str = ""
    """What runs of the same work have in common; empty where that is not known."""
    windows: Sequence[Window] = ()
    events: Sequence[Event] = ()
    steps: Mapping[str, Sequence[Step]] = field(default_factory=dict)
    """By writer: the file, or the stream of output, they were read from."""
    since: Mapping[str, Position] = field(default_factory=dict)
    """By file: where reading began. A batch that does not begin where the index ends is refused."""
    until: Mapping[str, Position] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Statistics:
    """One series over the whole run; NaN is left out of all but the last value."""

    n: int
    low: float
    high: float
    total: float
    last: float


@dataclass(frozen=True, slots=True)
class MetricStatistics:
    """One metric over a stretch of steps; low and high are of finite values, NaN where there is none."""

    n: int
    finite: int
    low: Number
    high: Number
    first: Number
    last: Number


class Ranks(NamedTuple):
    """Which ranks of a distributed job a run's processes were, and how many there should be."""

    seen: tuple[int, ...] = ()
    world_size: int | None = None


class Pace(NamedTuple):
    """How time passed over some steps: the ends that have a time, and what went forward between them."""

    t0: float | None = None
    t0_step: int | None = None
    t1: float | None = None
    t1_step: int | None = None
    advanced: int = 0
    advancing_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStatistics:
    """What one writer told of one rank comes to."""

    writer: str
    source: str
    rank: int
    count: int
    last_step: int
    """The step of the last row written."""
    pace: Pace
    metrics: dict[str, MetricStatistics]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReport:
    """What analysis said of a run, and what it was made of: no longer valid once either is another."""

    rules: str
    """Which detectors, rules and readers spoke."""
    inputs: str
    """What they were shown."""
    document: bytes
    cause: str = ""
    """What it gives as the cause of the run's end: the run's field `cause` from then on."""


class Store(Protocol):
    """What a back end must do. Reading sees one moment; writing needs `writing`."""

    def writing(self, wait_seconds: float) -> AbstractContextManager[None]:
        """Become the only writer; BusyError when another one stays longer than `wait_seconds`."""

    def append(self, batch: Batch) -> bool:
        """Add a batch in one transaction; False when the index has already moved past its beginning."""

    def forget(self, run_id: str) -> None:
        """Drop all that is known of a run."""

    def run_ids(self) -> set[str]:
        """Name every run."""

    def unfinished(self) -> dict[str, Status]:
        """Name the runs of which not all is known yet, in order, with where they stand."""

    def positions(self, run_id: str) -> dict[str, Position]:
        """Say how far each file of a run is indexed; `run_id` may also name a file of the home itself."""

    def set_position(self, name: str, file: str, position: Position) -> None:
        """Note how far a file that brings no rows has been read."""

    def briefs(self, *, limit: int | None = None) -> list[Run]:
        """List runs newest first, without their definitions and context."""

    def page(self, query: RunQuery) -> RunPage:
        """List the runs that a query finds, without their definitions and context, in its order.

        Fields are those of `fields`, and the keys of a run's summary. A page begins behind `query.after` whatever was
        added or removed since; a run whose place changed may be seen twice, or not.
        """

    def count(self, query: RunQuery) -> int:
        """Count the runs that a query finds, on all pages."""

    def facets(
        self, query: RunQuery, names: Collection[str], *, least: int = 1, most: int | None = MOST_FACETS
    ) -> dict[str, list[Facet]]:
        """Count the runs that a query finds, on all pages, by the values of fields: frequent ones first, then by value.

        `tag` counts every tag as `key=value`. Of a field with several values each counts; absent is no value. Left
        out are values of fewer than `least` runs, and all but the `most` frequent.
        """

    def totals(self, query: RunQuery, names: Collection[str]) -> dict[str, Total]:
        """Add numbers up over the runs that a query finds, on all pages."""

    def values(self, query: RunQuery, names: Sequence[str]) -> list[tuple[object, ...]]:
        """Read some fields of the runs that a query finds, in its order; None where a run does not have one."""

    def fields(self) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield every run's id and named fields, newest first."""

    def summaries(self) -> dict[str, dict[str, Value]]:
        """Read every run's summary by its id."""

    def brief(self, run_id: str) -> Run | None:
        """Read one run as lists show it."""

    def run(self, run_id: str) -> Run | None:
        """Read one run whole."""

    def with_prefix(self, prefix: str, limit: int) -> list[str]:
        """Name the runs whose id begins so, newest first."""

    def of_job(self, job_id: str) -> list[str]:
        """Name the runs that share a job, newest first."""

    def of_key(self, job_key: str, limit: int | None = None) -> list[str]:
        """Name the runs of the same work, newest first: all of them, or so many."""

    def series(
        self,
        run_id: str,
        keys: Collection[str] | None = None,
        *,
        counters: Collection[str] = (),
        between: tuple[float, float] | None = None,
    ) -> list[Series]:
        """Read series ordered by key and instance; `counters` come with the seconds each value covers."""

    def stretches(
        self,
        run_id: str,
        keys: Collection[str] | None = None,
        *,
        points: int,
        counters: Collection[str] = (),
        between: tuple[float, float] | None = None,
    ) -> list[Stretches]:
        """Read series coarsely, for charts: each as at most `points` stretches of consecutive points.

        Least and largest are exact, and every point is in one stretch. Where the store divides is its own affair: it
        keeps figures of blocks of points, and need not unpack these. Series of at most `points` points come whole,
        a stretch each.
        """

    def statistics(self, run_id: str) -> dict[tuple[str, str], Statistics]:
        """Summarise every series of a run without unpacking its points."""

    def steps(
        self,
        run_id: str,
        *,
        sources: Collection[str] | None = None,
        ranks: Collection[int] | None = None,
        metrics: Collection[str] | None = None,
        between: tuple[int, int] | None = None,
    ) -> list[StepTable]:
        """Read steps as tables ordered by source, rank and writer; `between` are steps, both included."""

    def step_stretches(
        self,
        run_id: str,
        metrics: Collection[str],
        *,
        points: int,
        sources: Collection[str] | None = None,
        ranks: Collection[int] | None = None,
        between: tuple[int, int] | None = None,
    ) -> list[StepStretches]:
        """Read metrics coarsely, for charts, ordered by source, rank, writer and metric; as `stretches` else.

        Rows stand as they were written: where `is_rising` is false a loop went back, and what it replaced is in them.
        """

    def step_clocks(self, run_id: str, *, points: int) -> list[StepClock]:
        """Say when steps were taken, at most at so many of each table, the first and the last among them.

        In the order of `steps`; a table without times has no clock. Of a long table the ends of blocks are told.
        """

    def step_statistics(self, run_id: str) -> list[StepStatistics]:
        """Summarise every table of steps without unpacking its values, in the order of `steps`."""

    def events(self, run_id: str) -> list[Event]:
        """Read a run's events in the order they were written."""

    def processes(self, run_id: str) -> list[Process]:
        """Read a run's processes in the order they were first seen."""

    def ranks(self, run_id: str) -> Ranks:
        """Say which ranks a run's processes were started as."""

    def report(self, run_id: str) -> StoredReport | None:
        """Read what analysis said of a run."""

    def put_report(self, run_id: str, report: StoredReport) -> None:
        """Keep what analysis says of a run, in place of what it said before."""

    def close(self) -> None:
        """Give files and locks back."""


class BackEnd(Protocol):
    """A module in this folder."""

    def open_store(self, where: Path | str) -> Store:
        """Open the index at a path or, where the back end is a server, a URL; made or brought up to date if needed."""


class SharedBackEnd(Protocol):
    """A module in this folder whose databases may hold the runs of many homes."""

    def open_store(self, where: Path | str, *, origin: str) -> Store:
        """Open the index of the home that `origin` names; what there is of other homes is read, not looked after."""


ALL: dict[str, str] = {
    "memory": "jobmeter.stores.memory",
    "postgres": "jobmeter.stores.postgres",
    "sqlite": "jobmeter.stores.sqlite",
}


def load(name: str) -> BackEnd:
    """Import a back end by its registry name."""
    module: BackEnd = _module(name)
    return module


def open_shared(name: str, url: str, *, origin: str) -> Store:
    """Open the index of one home in a database that homes share."""
    module: SharedBackEnd = _module(name)
    return module.open_store(url, origin=origin)


def _module(name: str) -> Any:
    try:
        return import_module(ALL[name])
    except ModuleNotFoundError as error:
        raise UsageError(
            f"an index in {name} needs the package {error.name}", hint=f"pip install 'jobmeter[{name}]'"
        ) from error
