"""Samples of a real process, with a source that breaks."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from jobmeter import collectors
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes.paths import Paths
from jobmeter.recording.clock import Timing
from jobmeter.recording.job import Job
from jobmeter.recording.sampler import Sampler
from jobmeter.recording.selection import Selection
from jobmeter.runfolder.writer import RunFolder
from support import broken_source
from support.broken_source import BrokenSource
from support.clocks import FakeClock


class Scripted:
    """A source of the job's own accounts that says what it is told to."""

    script: ClassVar[list[list[tuple[str, str, float]]]] = []

    def read(self) -> list[tuple[str, str, float]]:
        return self.script.pop(0)

    def close(self) -> None:
        assert not self.script


def attach(_job: object, _keys: frozenset[str]) -> Scripted:
    """Be a collector."""
    return Scripted()


SCRIPTED = (
    Measurement(
        "cgroup_level", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), (Stat.PEAK, Stat.MEAN), "x"
    ),
    Measurement("cgroup_used", Kind.COUNTER, Unit.SECONDS, Scope.JOB, (Reduce.DELTA,), (Stat.TOTAL,), "x"),
)


class Scene:
    """A sampler of a sleeping process that reads the broken source only."""

    def __init__(
        self, folder: Path, pid: int, measured: tuple[Measurement, ...] = broken_source.MEASUREMENTS
    ) -> None:
        self.clock = FakeClock()
        self.events: list[tuple[str, dict[str, object]]] = []
        self.folder = RunFolder(str(folder), "id")
        self.job = Job(pid, Paths(), ours=False)
        definitions = {m.key: m for m in measured}
        timing = Timing(self.clock, sample_interval=1.0, report_interval=10.0, timeout=None)
        self.sampler = Sampler(
            self.job,
            self.folder,
            Selection(definitions, {}),
            timing,
            lambda kind, details: self.events.append((kind, details)),
        )

    def sample(self, *said: object) -> None:
        BrokenSource.script = list(said)
        for _ in said:
            self.clock.now += 1
            self.sampler.sample()

    def lines(self) -> list[dict[str, object]]:
        path = Path(str(self.folder.file("usage.jsonl")))
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """Give a sampler whose job sleeps."""
    monkeypatch.setitem(collectors.ALL, "step", "support.broken_source")
    BrokenSource.closed = 0
    process = subprocess.Popen(["sleep", "60"])
    stat = Path(f"/proc/{process.pid}/stat")
    while "(sleep) S" not in stat.read_text():
        time.sleep(0.005)
    made = Scene(tmp_path, process.pid)
    yield made
    made.job.close()
    made.folder.close()
    process.kill()
    process.wait()


def values(scene: Scene) -> list[object]:
    found = []
    for line in scene.lines():
        measured = line["measurements"]
        assert isinstance(measured, dict)
        found.append(measured.get("step_level"))
    return found


def test_a_source_that_breaks_once_is_read_again(scene: Scene) -> None:
    scene.sample(1, OSError("gone for a moment"), 3)
    assert values(scene) == [1, 3]
    assert scene.events == [("source_failed", {"source": "step", "error": "OSError: gone for a moment"})]
    assert scene.sampler.samples == 3


def test_a_source_that_breaks_three_times_is_given_back_and_told_once(scene: Scene) -> None:
    scene.sample(1, ValueError("x"), KeyError("y"), OSError("z"))
    scene.clock.now += 1
    scene.sampler.sample()
    assert values(scene) == [1]
    assert scene.events == [("source_failed", {"source": "step", "error": "ValueError: x"})]
    assert BrokenSource.closed == 1
    scene.sampler.close()
    assert BrokenSource.closed == 1


def test_a_source_that_breaks_beside_its_numbers_costs_neither_sample_nor_summary(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKEN_SOURCE_MUTE", "1")
    other = Scene(tmp_path, scene.job.pid)
    other.sample(4, 7)
    other.sampler.close()
    assert values(other) == [4, 7]
    assert other.sampler.summary.values() == {"step_level": 7}
    assert [details["error"] for _, details in other.events] == [
        "OSError: [Errno 5] no words",
        "OSError: [Errno 9] not given back",
    ]
    other.folder.close()


def test_a_source_that_cannot_be_attached_is_told_and_left_out(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKEN_SOURCE_ATTACH", "1")
    other = Scene(tmp_path, scene.job.pid)
    other.sample()
    other.clock.now += 1
    other.sampler.sample()
    assert other.events == [
        ("source_failed", {"source": "step", "error": "OSError: [Errno 5] cannot be attached"})
    ]
    assert other.lines() == []
    other.job.close()


def test_a_sample_of_nobody_is_no_sample(scene: Scene) -> None:
    scene.sample(1)
    process = subprocess.Popen(["true"])
    process.wait()
    gone = Scene(Path(str(scene.folder.path)), process.pid)
    gone.sampler.sample()
    assert gone.sampler.samples == 0
    BrokenSource.script = [5]
    gone.sampler.sample(final=True)
    assert gone.sampler.samples == 1


def test_a_line_that_the_disk_refused_is_carried_by_the_next(scene: Scene) -> None:
    path = Path(str(scene.folder.file("usage.jsonl")))
    path.mkdir()
    scene.sample(7, 9)
    path.rmdir()
    scene.sample(2)
    (line,) = scene.lines()
    assert line["measurements"] == {"step_level": 9}
    assert line["num_samples"] == 3
    assert scene.folder.dropped() == {"usage": 2}
    clock = line["clock"]
    assert isinstance(clock, dict)
    assert clock["step"] == [1000.0, 1003.0]


@pytest.fixture
def idle(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """Give a sampler of a sleeping job whose own accounts say what they are told to."""
    monkeypatch.setitem(collectors.ALL, "cgroup", __name__)
    made = Scene(tmp_path / "other", scene.job.pid, SCRIPTED)
    (tmp_path / "other").mkdir()
    yield made
    made.sampler.close()
    made.folder.close()
    made.job.close()


def test_what_an_idle_job_said_stands_in_every_line_and_weighs_in_the_mean(idle: Scene) -> None:
    Scripted.script = [
        [("cgroup_level", "", 10), ("cgroup_used", "", 2.5)],
        [("cgroup_level", "", 30), ("cgroup_used", "", 4.0)],
    ]
    for seconds in (1, 1, 1, 5, 1):
        idle.clock.now += seconds
        idle.sampler.sample()
    measured = [line["measurements"] for line in idle.lines()]
    assert measured[1:] == [
        {"cgroup_level": 10, "cgroup_used": 0},
        {"cgroup_level": 10, "cgroup_used": 0},
        {"cgroup_level": 30, "cgroup_used": 1.5},
        {"cgroup_level": 30, "cgroup_used": 0},
    ]
    assert idle.sampler.summary.values() == {
        "cgroup_mean_level": 18,
        "cgroup_peak_level": 30,
        "cgroup_used": 1.5,
    }


def test_an_idle_job_says_the_same_again_each_time_for_a_span_of_its_own(idle: Scene) -> None:
    said = [("cgroup_level", "", 10), ("cgroup_used", "", 2.5)]
    Scripted.script = [said, list(said), [("cgroup_level", "", 11), ("cgroup_used", "", 2.5)]]
    for seconds in (1, 1, 1, 5, 1, 1, 1):
        idle.clock.now += seconds
        idle.sampler.sample()
    lines = idle.lines()
    assert [line["measurements"] for line in lines[1:]] == [
        *[{"cgroup_level": 10, "cgroup_used": 0}] * 4,
        *[{"cgroup_level": 11, "cgroup_used": 0}] * 2,
    ]
    assert [line["clock"] for line in lines] == [
        {"cgroup": [1000.0 + begin, 1000.0 + end]}
        for begin, end in ((0, 1), (1, 2), (2, 3), (3, 8), (8, 9), (9, 10), (10, 11))
    ]
    assert {line["num_samples"] for line in lines} == {1}


def test_what_an_idle_job_could_not_write_is_in_its_next_line(idle: Scene) -> None:
    Scripted.script = [[("cgroup_level", "", 10), ("cgroup_used", "", 2.5)]]
    path = Path(str(idle.folder.file("usage.jsonl")))
    path.mkdir()
    for _ in range(3):
        idle.clock.now += 1
        idle.sampler.sample()
    path.rmdir()
    for _ in range(2):
        idle.clock.now += 1
        idle.sampler.sample()
    first, second = idle.lines()
    assert (first["num_samples"], first["clock"]) == (4, {"cgroup": [1000.0, 1004.0]})
    assert first["measurements"] == {"cgroup_level": 10, "cgroup_used": 0}
    assert (second["num_samples"], second["clock"]) == (1, {"cgroup": [1004.0, 1005.0]})
    assert second["measurements"] == {"cgroup_level": 10, "cgroup_used": 0}
