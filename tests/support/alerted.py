"""A run folder that grows sample by sample and is held against rules after each."""

from collections.abc import Callable, Sequence
from pathlib import Path

from jobmeter import stores
from jobmeter.model.alert import Change, Rule, RunBook
from jobmeter.model.report import Report
from jobmeter.runfolder import liveness
from jobmeter.service import alert_watch, analysis, indexing, output_steps
from support import folders

MIB = folders.MIB
GPUS = ("GPU-a", "GPU-b")


class Job:
    """A running job of which a test says what is measured."""

    def __init__(
        self, home: Path, *, rules: Sequence[Rule] = (), context: folders.Record | None = None
    ) -> None:
        device = {"nvml_util": "percent", "nvml_mem_used": "bytes", "nvml_mem_total": "bytes"}
        rows = [folders.definition(key, "gauge", unit, "device") for key, unit in device.items()]
        told = {"measurements": [*folders.definitions(), *rows], "outputs": [], **(context or {})}
        self.home = home
        self.folder = folders.write_run(
            home, seconds=0, start=folders.this_recorder(), context=told, ended=False
        )
        self.store = stores.load("memory").open_store(Path())
        self.watcher = alert_watch.Watcher({rule.name: rule for rule in rules}, now=folders.STARTED)
        self.book = RunBook(run_id=folders.RUN_ID)
        self.wall = folders.STARTED
        self.clock = folders.CLOCK
        self.looked_at: float | None = None
        self.groups: alert_watch.Groups | None = None
        self.report: Callable[[], Report | None] | None = None

    def sample(self, seconds: float = 1.0, **values: object) -> None:
        """Write one sample that was taken so long after the last."""
        begun, self.clock = self.clock, self.clock + seconds
        self.wall += seconds
        clock = {source: [begun, self.clock] for source in ("cgroup", "proc", "nvml", "wait")}
        line = {"timestamp": folders.iso(self.wall), "num_samples": 1, "clock": clock, "measurements": values}
        folders.append(self.folder / "usage.jsonl", line)

    def memory(self, mib: float, *, times: int = 1, seconds: float = 1.0) -> None:
        """Write samples in which the job holds so much memory."""
        for _ in range(times):
            self.sample(seconds, cgroup_mem_unreclaimable=int(mib * MIB))

    def step(self, number: int, rank: int = 0, **metrics: float) -> None:
        """Write one step of the training loop."""
        record = {
            "timestamp": folders.iso(self.wall),
            "step": number,
            "rank": rank,
            "source": "sdk",
            "metrics": metrics,
        }
        folders.append(self.folder / f"steps.{rank}.jsonl", record)

    def event(self, kind: str, **details: object) -> None:
        """Write one event of the job itself."""
        record = {"timestamp": folders.iso(self.wall), "type": kind, "details": details}
        folders.append(self.folder / "events.0.jsonl", record)

    def end(self, **changes: object) -> None:
        """Write the record of the end."""
        folders.append(self.folder / "run.jsonl", folders.end_record(self.wall - folders.STARTED, **changes))

    def look(self, now: float | None = None) -> list[Change]:
        """Index what is new and hold it against the rules."""
        moment = self.wall if now is None else now
        patience = output_steps.Patience(5.0)
        with self.store.writing(1.0):
            indexing.index_run(
                self.store, folders.RUN_ID, self.folder, liveness.here(), moment, patience=patience
            )
        run = self.store.run(folders.RUN_ID)
        assert run is not None
        scene = alert_watch.Scene(
            store=self.store,
            run=run,
            folder=self.folder,
            now=moment,
            analyst=self.report or (lambda: analysis.of_run(self.store, run)[1]),
            groups=self.groups,
            since_seconds=0.0 if self.looked_at is None else max(0.0, moment - self.looked_at),
        )
        self.looked_at = moment
        self.book, changes = self.watcher.look(scene, self.book)
        return changes


def said(changes: Sequence[Change]) -> list[tuple[str, str]]:
    """Give what changed in two words."""
    return [(change.turn.value, change.standing.instance or change.standing.rule) for change in changes]
