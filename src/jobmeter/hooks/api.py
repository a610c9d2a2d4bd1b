"""Read runs back from a script: `jobmeter.Api().runs("project")[0].history()`.

Rows are dicts with `_step`, `_timestamp` and `_rank` beside the metrics, or a pandas table where pandas is
installed. A metric that a step does not have is absent from its row (NaN in a table). Of a million steps
`columns` reads a tenth of the time that rows take.
"""

import importlib
import importlib.util
import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobmeter.config import home as homes
from jobmeter.errors import UsageError
from jobmeter.model.query import All, Compare, Field, Filter, Op
from jobmeter.model.run import Run
from jobmeter.model.steps import Number, StepTable
from jobmeter.service import filters as filter_language
from jobmeter.service import runs, steps

Row = dict[str, Any]


class Api:
    """The runs of one home, indexed anew with every question."""

    __slots__ = ("home",)

    def __init__(self, home: str | os.PathLike[str] | None = None) -> None:
        given = None if home is None else os.fspath(home)
        self.home = homes.find_home(homes.working_directory(), os.environ, given)

    def runs(
        self, project: str | None = None, filters: str | None = None, *, limit: int | None = None
    ) -> list["ApiRun"]:
        """List runs, newest first; `filters` is what `jobmeter ls --filter` takes."""
        asked = None if filters is None else filter_language.parse(filters, now=time.time())
        where = _wanted(project, asked)
        return [ApiRun(self.home, run) for run in runs.list_runs(self.home, where=where, limit=limit)]

    def run(self, ref: str) -> "ApiRun":
        """Find one run by its id, a unique beginning of it, or `last`."""
        return ApiRun(self.home, runs.find(self.home, ref))


def _wanted(project: str | None, asked: Filter | None) -> Filter | None:
    """Ask for the runs of a project that a filter lets through."""
    if project is None:
        return asked
    of_project = Compare(Field("project"), Op.EQ, project)
    return of_project if asked is None else All((of_project, asked))


class ApiRun:
    """One run as it was when it was asked for."""

    __slots__ = ("_home", "_known", "_whole")

    def __init__(self, home: str, known: Run) -> None:
        self._home = home
        self._known = known
        self._whole: Run | None = None

    def __repr__(self) -> str:
        return f"<run {self.id} {self.state}>"

    @property
    def id(self) -> str:
        """The id of the run folder."""
        return self._known.run_id

    @property
    def job_id(self) -> str:
        """What the recorders of one job share."""
        return self._known.job_id

    @property
    def name(self) -> str | None:
        """The name it was given."""
        return self._known.name

    @property
    def project(self) -> str | None:
        """The project it belongs to."""
        return self._known.project

    @property
    def group(self) -> str | None:
        """The group it belongs to."""
        return self._known.group

    @property
    def tags(self) -> dict[str, str]:
        """Its tags."""
        return dict(self._known.tags)

    @property
    def state(self) -> str:
        """Where it stands: running, completed, failed, killed, cancelled, lost."""
        return self._known.status.value

    @property
    def created_at(self) -> datetime | None:
        """When it began."""
        began = self._known.started_at
        return None if began is None else datetime.fromtimestamp(began, UTC)

    @property
    def folder(self) -> Path | None:
        """Where it is kept."""
        return None if self._known.folder is None else Path(self._known.folder)

    @property
    def config(self) -> Row:
        """What the training was configured with."""
        found = self._read().context.get("config")
        return dict(found) if isinstance(found, dict) else {}

    @property
    def summary(self) -> Row:
        """The last value of every metric, and over these what the script put into `run.summary`."""
        return {**steps.last_values(self._home, self.id), **self._read().results}

    def _read(self) -> Run:
        """Read the run whole: lists carry no configs."""
        if self._whole is None:
            self._whole = runs.find(self._home, self.id)
        return self._whole

    def history(
        self,
        keys: Sequence[str] | None = None,
        *,
        rank: int | None = None,
        source: str | None = None,
        pandas: bool | None = None,
    ) -> Any:
        """Read the steps as rows: a pandas table where pandas is installed, else (or with `pandas=False`) dicts."""
        tables = self._tables(keys, rank=rank, source=source)
        if pandas is None:
            pandas = importlib.util.find_spec("pandas") is not None
        return _frame(tables) if pandas else list(_rows(tables))

    def scan_history(
        self, keys: Sequence[str] | None = None, *, rank: int | None = None, source: str | None = None
    ) -> Iterator[Row]:
        """Walk the steps row by row."""
        return _rows(self._tables(keys, rank=rank, source=source))

    def columns(
        self, keys: Sequence[str] | None = None, *, rank: int | None = None, source: str | None = None
    ) -> dict[str, Sequence[Number]]:
        """Read the steps of one rank as columns of equal length, NaN where a step lacks the metric."""
        tables = self._tables(keys, rank=rank, source=source)
        lowest = min((table.rank for table in tables), default=0)
        return _columns([table for table in tables if table.rank == lowest])

    def _tables(
        self, keys: Sequence[str] | None, *, rank: int | None, source: str | None
    ) -> tuple[StepTable, ...]:
        try:
            return steps.of_run(self._home, self.id, metrics=keys or (), rank=rank, source=source).tables
        except UsageError:
            if keys or rank is not None or source is not None:
                raise
            return ()  # a run without steps has no history, which is no mistake


def _rows(tables: Sequence[StepTable]) -> Iterator[Row]:
    for table in tables:
        for row in table.rows():
            if row.metrics:
                yield {"_step": row.step, "_timestamp": row.timestamp, "_rank": row.rank, **row.metrics}


def _columns(tables: Sequence[StepTable]) -> dict[str, Sequence[Number]]:
    """Lay the tables of several writers below one another."""
    if len(tables) == 1:
        return _of_one(tables[0])
    parts = [_of_one(table) for table in tables]
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: [
            value
            for part, table in zip(parts, tables, strict=True)
            for value in _part(part, name, len(table))
        ]
        for name in names
    }


def _part(part: dict[str, Sequence[Number]], name: str, length: int) -> Sequence[Number]:
    return part[name] if name in part else [float("nan")] * length


def _of_one(table: StepTable) -> dict[str, Sequence[Number]]:
    length = len(table)
    found: dict[str, Sequence[Number]] = {"_step": table.steps}
    if table.timestamps is not None:
        found["_timestamp"] = table.timestamps
    for name, column in table.columns.items():
        if column.rows is None:
            found[name] = column.values
            continue
        sparse: list[Number] = [float("nan")] * length
        for place, value in zip(column.rows, column.values, strict=True):
            sparse[place] = value
        found[name] = sparse
    return found


def _frame(tables: Sequence[StepTable]) -> Any:
    """Make one pandas table; the import is paid by who asked for it."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise UsageError(
            "pandas is not installed", hint="pip install pandas, or history(pandas=False)"
        ) from None
    frames = [pandas.DataFrame({**_of_one(table), "_rank": table.rank}) for table in tables]
    return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()
