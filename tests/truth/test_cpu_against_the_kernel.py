"""CPU time against the kernel's own count of a cgroup that jobmeter does not read.

The oracle looks every few milliseconds. A sample is right when it lies within the tolerance of what the
kernel said just before and just after it.
"""

from collections.abc import Callable

import pytest

from harness.recorded import Recorded, Wish

Record = Callable[..., Recorded]
Storms = Callable[[str], Recorded]

COUNTED_BY = {"root": "cgroup_cputime", "nobody": "wait_cputime"}


def tolerance_seconds(truth: float) -> float:
    """Half a percent, but a fast start is not judged finer than 20 ms."""
    return max(0.005 * truth, 0.020)


def off_by(run: Recorded, key: str) -> list[tuple[float, float, float]]:
    """List the samples outside the tolerance: total, lowest and highest truth."""
    wrong = []
    for moment, total in run.cumulated(key):
        low, high = run.truth_at(moment)
        if not low - tolerance_seconds(low) <= total <= high + tolerance_seconds(high):
            wrong.append((total, low, high))
    return wrong


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_a_fork_storm_is_right_at_every_sample(storms: Storms, who: str) -> None:
    run = storms(who)
    assert run.exit_code == 0
    assert run.job_cpu_seconds > 18, "the storm burns 18.8 s in 1,500 processes"
    assert len(list(run.cumulated(COUNTED_BY[who]))) >= 12
    assert off_by(run, COUNTED_BY[who]) == []


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_a_fork_storm_ends_with_the_kernels_total(storms: Storms, who: str) -> None:
    run = storms(who)
    cpu = run.headline["cpu_seconds"]
    assert cpu["keys"] == [COUNTED_BY[who]]
    assert cpu["exact"] is True
    assert cpu["value"] == pytest.approx(run.job_cpu_seconds, abs=tolerance_seconds(run.job_cpu_seconds))


def test_the_unprivileged_sum_is_right_also_for_root(storms: Storms) -> None:
    assert off_by(storms("root"), "wait_cputime") == []


def test_root_records_in_a_cgroup_of_its_own_and_removes_it(storms: Storms) -> None:
    run = storms("root")
    assert run.run["provenance"]["own_cgroup"]
    assert run.leftovers == []


def test_nobody_has_no_cgroup_of_its_own(storms: Storms) -> None:
    assert not storms("nobody").run["provenance"].get("own_cgroup")


@pytest.mark.parametrize("who", ["root", "nobody"])
@pytest.mark.parametrize("by", ["threads", "processes"])
def test_two_busy_workers_are_counted(record: Record, who: str, by: str) -> None:
    run = record(who, "busy.py", "--by", by, "--seconds", "0.8")
    assert run.job_cpu_seconds > 1.6
    cpu = run.headline["cpu_seconds"]["value"]
    assert cpu == pytest.approx(run.job_cpu_seconds, abs=tolerance_seconds(run.job_cpu_seconds))


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_a_daemonised_child_is_counted(record: Record, who: str) -> None:
    run = record(who, "daemonise.py", "--daemon-seconds", "1.5", "--parent-seconds", "0.5")
    assert run.job_cpu_seconds > 2.0
    assert off_by(run, COUNTED_BY[who]) == []
    cpu = run.headline["cpu_seconds"]["value"]
    assert cpu == pytest.approx(run.job_cpu_seconds, abs=tolerance_seconds(run.job_cpu_seconds))


ORPHAN = ("daemonise.py", "--orphan", "--parent-seconds", "0", "--daemon-seconds", "1.5")


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_an_orphan_that_is_waited_for_is_counted(record: Record, who: str) -> None:
    run = record(who, *ORPHAN, wish=Wish(options=("--wait-for-children",)))
    assert run.exit_code == 0
    assert run.job_cpu_seconds > 1.5
    cpu = run.headline["cpu_seconds"]["value"]
    assert cpu == pytest.approx(run.job_cpu_seconds, abs=tolerance_seconds(run.job_cpu_seconds))


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_an_orphan_that_is_not_waited_for_is_named(record: Record, who: str) -> None:
    run = record(who, *ORPHAN)
    assert run.exit_code == 0
    assert run.run["wall_seconds"] < 1.2, "the orphan burns 1.5 s"
    assert len(run.run["processes_left"]) == 1
    assert run.headline["cpu_seconds"]["value"] < 1.2


IGNORING = ("storm.py", "--count", "250", "--ignore-sigchld")


def test_a_job_that_ignores_sigchld_is_exact_in_its_own_cgroup(record: Record) -> None:
    run = record("root", *IGNORING)
    cpu = run.headline["cpu_seconds"]
    assert cpu["keys"] == ["cgroup_cputime"]
    assert cpu["value"] == pytest.approx(run.job_cpu_seconds, abs=tolerance_seconds(run.job_cpu_seconds))


def test_a_job_that_ignores_sigchld_is_flagged_and_counted_by_perf_without_rights(record: Record) -> None:
    run = record("nobody", *IGNORING)
    assert "wait_cputime" in run.run["inexact"]
    assert all("SIGCHLD" in reason for reason in run.run["inexact"].values())
    cpu = run.headline["cpu_seconds"]
    assert cpu["exact"] is False
    assert cpu["value"] == pytest.approx(run.job_cpu_seconds, rel=0.05)


NORMAL = {
    "storm": ("storm.py", "--count", "60"),
    "shell": ("/bin/bash", "-c", "for i in 1 2 3 4 5; do /bin/true; done; sleep 0.6 & wait"),
    "pipeline": ("/bin/sh", "-c", "yes | head -c 50000000 | wc -c"),
    "daemon": ("daemonise.py", "--daemon-seconds", "0.6", "--parent-seconds", "0.2"),
    "short": ("/bin/true",),
    "killed": ("/bin/sh", "-c", "sleep 5 & kill -9 $! ; wait; sleep 0.4"),
}


@pytest.mark.parametrize("who", ["root", "nobody"])
@pytest.mark.parametrize("job", NORMAL)
def test_a_normal_job_is_never_flagged(record: Record, who: str, job: str) -> None:
    run = record(who, *NORMAL[job])
    assert run.exit_code == 0
    assert not run.run.get("inexact")
    assert run.headline["cpu_seconds"]["exact"] is True


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_the_storms_carry_no_flag(storms: Storms, who: str) -> None:
    assert not storms(who).run.get("inexact")
