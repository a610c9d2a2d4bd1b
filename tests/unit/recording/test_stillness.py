"""When a job counts as standing still, and how often that is told."""

import pytest

from jobmeter.probes.paths import Paths
from jobmeter.recording.stillness import Stillness


class FakeJob:
    """A job that is told what it used."""

    def __init__(self) -> None:
        self.cpu_ns = 0
        self.transferred = 0
        self.idle = False
        self.processes: dict[int, object] = {}
        self.paths = Paths()

    def io(self) -> list[int] | None:
        return [self.transferred, 0, 0, 0]


class FakeSummary:
    def __init__(self) -> None:
        self.gpu: float | None = None

    def latest(self, key: str) -> float | None:
        return self.gpu if key == "nvml_util" else None


class Watched:
    """A job looked at once a second."""

    def __init__(self) -> None:
        self.job, self.summary = FakeJob(), FakeSummary()
        self.told: list[tuple[str, dict[str, object], float]] = []
        self.now = 0.0
        self.stillness = Stillness(
            self.job,  # type: ignore[arg-type]  # only these parts are looked at
            self.summary,  # type: ignore[arg-type]  # as above
            60.0,
            lambda kind, details, wall: self.told.append((kind, details, wall)),
        )

    def pass_time(self, seconds: int, *, cores: float = 0.0, bytes_per_second: int = 0) -> None:
        for _ in range(seconds):
            self.now += 1
            self.job.cpu_ns += round(cores * 1e9)
            self.job.transferred += bytes_per_second
            self.job.idle = not cores and not bytes_per_second
            self.stillness.look(self.now, 1000 + self.now)

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _, _ in self.told]


def test_a_job_that_works_and_then_does_nothing_is_told_once() -> None:
    watched = Watched()
    watched.pass_time(10, cores=1.0)
    watched.pass_time(59)
    assert watched.told == []
    watched.pass_time(200)
    ((kind, details, wall),) = watched.told
    assert (kind, wall) == ("stall", 1070.0)
    assert details == {"seconds": 60.0, "worked": True, "cpu_seconds_before": 10.0, "processes": []}


def test_a_job_that_never_worked_is_told_as_such() -> None:
    watched = Watched()
    watched.pass_time(1, cores=0.1)
    watched.pass_time(60)
    assert watched.told[0][1]["worked"] is False


def test_going_on_ends_it_and_the_next_one_is_told_again() -> None:
    watched = Watched()
    watched.pass_time(10, cores=1.0)
    watched.pass_time(90)
    watched.pass_time(1, cores=0.5)
    watched.pass_time(60)
    assert watched.kinds == ["stall", "stall_over", "stall"]
    assert watched.told[1][1] == {"seconds": 91.0}


@pytest.mark.parametrize("used", [{"cores": 0.1}, {"bytes_per_second": 100_000}])
def test_little_work_is_work(used: dict[str, float]) -> None:
    watched = Watched()
    watched.pass_time(10, cores=1.0)
    watched.pass_time(300, **used)  # type: ignore[arg-type]  # one of the two
    assert watched.told == []


def test_a_heartbeat_is_none() -> None:
    watched = Watched()
    watched.pass_time(10, cores=1.0)
    watched.pass_time(60, cores=0.01, bytes_per_second=500)
    assert watched.kinds == ["stall"]


def test_a_busy_gpu_is_work_even_while_the_job_sleeps() -> None:
    watched = Watched()
    watched.pass_time(10, cores=1.0)
    watched.summary.gpu = 97.0
    watched.pass_time(100)
    assert watched.told == []
    watched.summary.gpu = 0.0
    watched.pass_time(60)
    assert watched.kinds == ["stall"]


def test_a_job_that_pauses_again_and_again_is_not_told_for_ever() -> None:
    watched = Watched()
    for _ in range(60):
        watched.pass_time(1, cores=1.0)
        watched.pass_time(60)
    assert watched.kinds.count("stall") == 50
