"""What a run was: its config, where and with what it ran, and how each of its numbers came to be.

Nothing is read anew: secrets were cut out when the run was recorded, and only parts with a name here are given.
"""

from collections.abc import Mapping
from typing import Any, get_type_hints

import msgspec

from jobmeter.model.context_answers import RunContext
from jobmeter.model.measurement import Measurement
from jobmeter.model.run import LIVE, Run
from jobmeter.service import again, analysis, shapes
from jobmeter.stores import Store

_PARTS = (
    *(
        "config",
        "config_path",
        "argv",
        "host",
        "limits",
        "git",
        "python",
        "packages",
        "versions",
        "frameworks",
    ),
    *("environment", "slurm", "options", "recorder", "processes_left", "ended_by", "resumed"),
)
"""Of what the recorder and the SDK said, what is shown to people."""
_KINDS: dict[str, Any] = get_type_hints(RunContext)
Shape = dict[str, object]


def shown(store: Store, run: Run) -> Shape:
    """Lay out what a run was."""
    # what goes on changes all the time: nobody starts it again yet, and its report is analysed beside this
    advice = () if run.status in LIVE else analysis.of_run(store, run)[1].recommendations
    as_it_was, advised = again.command(run), again.command(run, advice)
    found: Shape = {
        "run_id": run.run_id,
        **{name: _part(run, name) for name in (*_PARTS, "sources")},
        "again": as_it_was,
        "again_advised": advised if advised != as_it_was else None,
        "measured": _measured(run),
        "missing": dict(run.provenance.missing),
        "inexact": dict(run.provenance.inexact) or None,
        "dropped": {name: count for name, count in run.provenance.dropped.items() if count} or None,
        "origin": run.provenance.origin,
    }
    return shapes.present(found)


def _part(run: Run, name: str) -> object:
    """Give a part of what a run was, as everybody expects it; a folder may hold anything."""
    try:
        found: object = msgspec.convert(run.context.get(name), _KINDS[name] | None)
    except msgspec.ValidationError:
        return None
    return found


def _measured(run: Run) -> list[Shape]:
    """Say for every source what came from it, with what it came to where a summary says that."""
    by_tool: dict[str, list[Measurement]] = {}
    for definition in run.definitions.values():
        by_tool.setdefault(definition.tool, []).append(definition)
    return [
        {"source": tool, "keys": [_key(run.summary, one) for one in sorted(found, key=lambda one: one.key)]}
        for tool, found in sorted(by_tool.items())
    ]


def _key(summary: Mapping[str, object], one: Measurement) -> Shape:
    known: Shape = {name: one.as_record()[name] for name in ("key", "kind", "unit", "scope", "about")}
    stats = (one.key, *(one.stat_key(stat.value) for stat in one.summary))
    return known | {"summary": {name: summary[name] for name in stats if name in summary}}
