"""Two long tables for pandas, DuckDB, Spark: `usage.parquet` and, of a training, `steps.parquet`.

`usage`: `t, key, instance, state, value, text`, a row per value that was stored; a row per state of a tally, its value
the samples that saw it. `steps`: `t, step, rank, source, metric, value, text`. Numbers are in `value`; a whole number
that no float holds exactly is in `text` as well, as labels are. NaN is a value, absent is null. The definitions of
the keys travel in the metadata of both files, under `jobmeter`.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import isnan
from typing import TYPE_CHECKING, Any

from jobmeter.errors import UsageError
from jobmeter.model.run import Run, Value
from jobmeter.model.steps import Column, Number, StepTable
from jobmeter.model.view import RunView, Window

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 65_536
"""Of one group: what is held in memory at a time."""
_EXACT = 2**53
_MICROSECONDS = 1_000_000

_UsageRow = tuple[int, str, str, str | None, float | None, str | None]
_Columns = Sequence[Sequence[object]]


def render(view: RunView, windows: Iterable[Window], *, prefix: str) -> Mapping[str, Iterable[bytes]]:
    """Render every stored value and every step metric of a run as Parquet."""
    del prefix  # no part names another
    _require_pyarrow()
    parts: dict[str, Iterable[bytes]] = {"usage.parquet": _usage(view, windows)}
    if len(view.steps):
        parts["steps.parquet"] = _steps(view)
    return parts


def _require_pyarrow() -> None:
    try:
        import pyarrow.parquet  # noqa: F401  # asked for here, so that no half of an export is written without it
    except ModuleNotFoundError:
        raise UsageError(
            "the package pyarrow is missing", hint="install it: pip install 'jobmeter[parquet]'"
        ) from None


def _usage(view: RunView, windows: Iterable[Window]) -> Iterator[bytes]:
    import pyarrow as pa

    word = pa.dictionary(pa.int32(), pa.string())
    fields = [("t", pa.timestamp("us", "UTC")), ("key", word), ("instance", word), ("state", word)]
    schema = pa.schema([*fields, ("value", pa.float64()), ("text", pa.string())], metadata=_about(view.run))
    yield from _written(schema, _grouped(_usage_rows(windows)))


def _usage_rows(windows: Iterable[Window]) -> Iterator[_UsageRow]:
    for window in windows:
        moment = round(window.timestamp * _MICROSECONDS)
        for (key, instance), value in window.values.items():
            key_text, instance_text = _clean(key), _clean(instance)
            if isinstance(value, dict):
                for state, seen in value.items():
                    yield moment, key_text, instance_text, _clean(state), float(seen), None
            else:
                yield moment, key_text, instance_text, None, *_number_and_text(value)


def _number_and_text(value: Value) -> tuple[float | None, str | None]:
    if isinstance(value, str):
        return None, _clean(value)
    if isinstance(value, int) and abs(value) > _EXACT:
        return _nearest(value), str(value)
    return float(value), None


def _nearest(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None  # beyond every float: the text has it


def _grouped(rows: Iterator[_UsageRow]) -> Iterator[_Columns]:
    while group := list(islice(rows, ROWS)):
        yield list(zip(*group, strict=True))


def _steps(view: RunView) -> Iterator[bytes]:
    import pyarrow as pa

    word = pa.dictionary(pa.int32(), pa.string())
    fields = [("t", pa.timestamp("us", "UTC")), ("step", pa.int64()), ("rank", pa.int32()), ("source", word)]
    more = [("metric", word), ("value", pa.float64()), ("text", pa.string())]
    schema = pa.schema([*fields, *more], metadata=_about(view.run))
    yield from _written(schema, _step_groups(view.steps.tables))


def _step_groups(tables: Sequence[StepTable]) -> Iterator[_Columns]:
    for table in tables:
        for metric, column in table.columns.items():
            for begin in range(0, len(column.values), ROWS):
                yield _step_group(table, _clean(metric), column, slice(begin, begin + ROWS))


def _step_group(table: StepTable, metric: str, column: Column, part: slice) -> _Columns:
    values: Sequence[Number] = column.values[part]
    places = range(len(table))[part] if column.rows is None else column.rows[part]
    count = len(values)
    cells = [_number_and_text(value) for value in values]
    return [
        [_moment(table, place) for place in places],
        [table.steps[place] for place in places],
        [table.rank] * count,
        [_clean(table.source)] * count,
        [metric] * count,
        [number for number, _ in cells],
        [text for _, text in cells],
    ]


def _moment(table: StepTable, place: int) -> int | None:
    """Give the time of a row in microseconds; None where it has none."""
    moment = None if table.timestamps is None else table.timestamps[place]
    return None if moment is None or isnan(moment) else round(moment * _MICROSECONDS)


class _Sink(io.RawIOBase):
    """Holds what was written until it is taken away, and counts all of it."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        self._written += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        return self._written

    def taken(self) -> bytes:
        """Give away what is held."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


def _written(schema: "pa.Schema", groups: Iterable[_Columns]) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    sink = _Sink()
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for group in groups:
            arrays = [pa.array(column, field.type) for column, field in zip(group, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            yield sink.taken()
    yield sink.taken()


def _about(run: Run) -> dict[str, str]:
    definitions = [definition.as_record() for definition in run.definitions.values()]
    document = {"run_id": run.run_id, "job_id": run.job_id, "measurements": definitions}
    return {"jobmeter": json.dumps(document)}


def _clean(text: str) -> str:
    """Escape what is no UTF-8: an argument may hold any bytes."""
    return text.encode("utf-8", "backslashreplace").decode()
