"""The fields a filter may name, for those who help to write one: every field there is, and what the newest runs add."""

from jobmeter.model.query import Op, RunQuery
from jobmeter.model.run import Status
from jobmeter.service import fields, index
from jobmeter.service.fields import Type
from jobmeter.stores import Store

NEWEST_RUNS = 25
"""How many are looked at for their tags, settings and metrics."""
MOST_FOUND = 300
_EQUAL, _HAS = (Op.EQ, Op.NE), (Op.HAS, Op.HAS_NOT)
_ORDER = (Op.LT, Op.LE, Op.GT, Op.GE)
_OPERATORS: dict[Type, tuple[Op, ...]] = {
    Type.ANY: (*_EQUAL, *_ORDER, *_HAS),
    Type.BYTES: (*_ORDER, *_EQUAL),
    Type.METRIC: (*_ORDER, *_EQUAL),
    Type.MOMENT: (*_ORDER, *_EQUAL),
    Type.NUMBER: (*_ORDER, *_EQUAL),
    Type.SECONDS: (*_ORDER, *_EQUAL),
    Type.TEXT: (*_EQUAL, *_HAS),
}
_EXAMPLES = {Type.BYTES: "4GiB", Type.MOMENT: "-7d", Type.SECONDS: "90s"}
_STATISTICS = (".first", ".min", ".max")


def told(home: str) -> list[dict[str, object]]:
    """List every field, those all runs may have first."""
    with index.open_index(home) as opened:
        opened.refresh()
        found = opened.ask(_found)
    return [_field(name) for name in (*fields.FIELDS, *sorted(found)[:MOST_FOUND])]


def _found(store: Store) -> set[str]:
    names: set[str] = set()
    for brief in store.page(RunQuery(limit=NEWEST_RUNS)).runs:
        run = store.run(brief.run_id)
        if run is not None:
            names |= fields.of_run(run, summary=False).keys()
    return {name for name in names if _is_asked_for(name)}


def _is_asked_for(name: str) -> bool:
    """Leave out what is listed anyway, the further figures of a metric, and names no filter can say."""
    return name not in fields.FIELDS and not name.endswith(_STATISTICS) and fields.type_of(name) is not None


def _field(name: str) -> dict[str, object]:
    kind = fields.type_of(name) or Type.ANY
    known: dict[str, object] = {
        "name": name,
        "holds": kind.value,
        "operators": [op.value for op in _OPERATORS[kind]],
    }
    if kind in _EXAMPLES:
        known["example"] = _EXAMPLES[kind]
    if name == "status":
        known["values"] = [status.value for status in Status]
    return known
