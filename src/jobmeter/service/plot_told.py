"""What a plot needs beside the series of a run: metrics of its training, and the numbers of its GPUs.

Metrics are read as columns, a few ranks of them, thinned: a plot has room for a few thousand points. The store keeps
numbers only, so the label that says which number a GPU has on its machine is read from the run folder.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.model.measurement import Scope
from jobmeter.model.run import Run
from jobmeter.model.view import RunView
from jobmeter.runfolder import lines, tailer
from jobmeter.service import metric_lines, plot_steps, runs, step_summary
from jobmeter.service.plot_source import Metric, Told
from jobmeter.stores import Store

MOST_RANKS = 64
POINTS, PEER_POINTS = 60_000, 20_000
"""Of the rank that is drawn strong, and of each of the others."""
LABEL = b'_index"'
MOST_LINES = 2000
"""Lines of a folder that are searched for the number of a GPU: it is said when the GPU is first seen."""


def of_run(home: str, ref: str, view: RunView, keys: tuple[str, ...] = ()) -> Told:
    """Gather what the training of a run told, and the numbers of its devices."""
    devices = _devices(view)
    if view.run.steps is None:
        return Told(devices=devices)

    def read(store: Store, run: Run) -> Told:
        told = step_summary.best_first(store.step_statistics(run.run_id))
        ranks = sorted({one.rank for one in told})
        names = sorted({name for one in told for part in one.parts for name in part.metrics})
        chosen = _asked(keys, set(names)) if keys else _usual(told)
        found = _metrics(store, run, chosen, ranks[:MOST_RANKS])
        return Told(
            metrics=tuple(found),
            ranks_left_out=len(ranks[MOST_RANKS:]),
            names=tuple(names),
            devices=devices,
        )

    return runs.ask(home, ref, read)


def _usual(told: Sequence[step_summary.Told]) -> dict[str, str]:
    """Choose what is drawn unasked: of the first rank, what a lesser source has only where better ones lack it."""
    chosen: dict[str, str] = {}
    for one in told:
        if one.rank != told[0].rank:
            continue
        known = plot_steps.wanted({name for part in one.parts for name in part.metrics})
        if chosen.keys() & set(plot_steps.PACES):
            known = {quantity: name for quantity, name in known.items() if quantity not in plot_steps.PACES}
        chosen = known | chosen
    return dict(sorted(chosen.items(), key=lambda pair: plot_steps.ORDER.index(pair[0])))


def _asked(keys: tuple[str, ...], names: set[str]) -> dict[str, str]:
    found = {key: metric_lines.spelling(key, names) for key in keys}
    return {key: name for key, name in found.items() if name is not None}


def _metrics(store: Store, run: Run, chosen: dict[str, str], ranks: Sequence[int]) -> Iterator[Metric]:
    for quantity, name in chosen.items():
        for place, rank in enumerate(ranks):
            points = PEER_POINTS if place else POINTS
            try:
                series = metric_lines.read(store, run, name, rank=rank, source=None, points=points)
            except UsageError:
                continue  # this rank did not log it
            yield Metric(quantity, series)


def _devices(view: RunView) -> dict[str, str]:
    """Find the number of every device that has a name instead."""
    run = view.run
    scoped = {m.key for m in run.definitions.values() if m.scope is Scope.DEVICE}
    wanted = {instance for key, instance in view.series if key in scoped and not instance.isdecimal()} - {""}
    if not wanted or run.folder is None:
        return {}
    found: dict[str, str] = {}
    for line in islice(_lines(Path(run.folder)), MOST_LINES):
        for window in lines.WindowReader().read([line]):
            labels = {i: str(v) for (key, i), v in window.values.items() if key.endswith("_index")}
            found |= {instance: number for instance, number in labels.items() if instance in wanted}
        if wanted <= found.keys():
            break
    # two hosts may both have a GPU 0: then the numbers tell nothing apart
    return found if len(set(found.values())) == len(found) else {}


def _lines(folder: Path) -> Iterator[bytes]:
    for piece in tailer.pieces(folder, "usage.jsonl", closed=True):
        yield from (line for line in piece.lines if LABEL in line)
