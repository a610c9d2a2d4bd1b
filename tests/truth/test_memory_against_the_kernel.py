"""Memory peaks against what the kernel charged the job's cgroup, file cache left out.

The oracle looks at the cgroup every few milliseconds: root's own one from outside, and for nobody one that
the job joined and jobmeter knows nothing of.
"""

from collections.abc import Callable
from typing import Any

import pytest

from harness import launch
from harness.recorded import Recorded, Wish

Record = Callable[..., Recorded]
MIB = 1 << 20
WATCHED = Wish(watch_memory=True)


def truth(run: Recorded) -> launch.MemoryPeak:
    """Give what the oracle saw, which must be something."""
    assert run.memory is not None
    assert run.memory.looks > 20
    return run.memory


def peak(run: Recorded) -> dict[str, Any]:
    """Give the headline."""
    headline: dict[str, Any] = run.headline["memory_peak_bytes"]
    return headline


@pytest.mark.parametrize(("who", "within"), [("root", 0.05), ("nobody", 0.08)])
@pytest.mark.parametrize("by", ["fork", "map"])
def test_memory_shared_by_eight_processes_counts_once(
    record: Record, who: str, within: float, by: str
) -> None:
    run = record(who, "share.py", "--by", by, "--seconds", "2.5", wish=WATCHED)
    assert run.exit_code == 0
    needed = truth(run).needed_bytes
    # what is shared, eight interpreters and the page tables of all
    assert 512 * MIB < needed < 600 * MIB
    assert peak(run)["value"] == pytest.approx(needed, rel=within)
    assert peak(run)["low"] <= needed * 1.01
    assert peak(run)["high"] >= needed * 0.99


def test_the_sum_of_rss_that_others_report_is_seven_times_over(record: Record) -> None:
    run = record("nobody", "share.py", "--size-mib", "128", "--seconds", "1.5", wish=WATCHED)
    assert run.run["summary"]["proc_peak_rss_total"] > 7 * truth(run).needed_bytes
    assert peak(run)["value"] == pytest.approx(truth(run).needed_bytes, rel=0.08)


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_a_spike_of_150_ms_is_seen_whole(record: Record, who: str) -> None:
    run = record(who, "spike.py", "--before", "0.4", "--after", "0.6", wish=WATCHED)
    needed = truth(run).needed_bytes
    assert needed > 1536 * MIB
    assert peak(run)["value"] == pytest.approx(needed, rel=0.02)


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_a_spike_just_before_the_end_is_seen_whole(record: Record, who: str) -> None:
    run = record(who, "spike.py", "--size-mib", "200", "--before", "0.3", "--after", "0", wish=WATCHED)
    assert peak(run)["value"] == pytest.approx(truth(run).needed_bytes, rel=0.02, abs=12 * MIB)


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_four_spikes_at_once_lie_inside_the_stated_interval(record: Record, who: str) -> None:
    run = record(who, "spike.py", "--processes", "4", "--size-mib", "400", "--before", "0.3", wish=WATCHED)
    needed = truth(run).needed_bytes
    assert needed > 4 * 400 * MIB
    assert peak(run)["low"] <= needed <= peak(run)["high"]


def test_file_cache_is_not_what_the_job_needs(record: Record) -> None:
    run = record("root", "write.py", "--megabytes", "200", "--after", "0.3", wish=WATCHED)
    charged = truth(run).charged_bytes
    assert charged is not None
    assert charged > 200_000_000
    assert run.run["summary"]["cgroup_mem_peak"] == pytest.approx(charged, rel=0.02)
    assert peak(run)["low"] < 60 * MIB


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_a_small_job_of_a_large_parent_stays_small(record: Record, who: str) -> None:
    # ru_maxrss is inherited over fork and exec: neither the parent's 300 MiB nor the recorder's are the job's
    ballast = bytearray(b"x") * (300 * MIB)
    run = record(who, "/bin/sleep", "0.8", wish=WATCHED)
    assert len(ballast) == 300 * MIB
    assert truth(run).needed_bytes < 2 * MIB
    assert peak(run)["value"] < 4 * MIB
    assert peak(run)["high"] < 24 * MIB
    assert run.run["summary"].get("wait_maxrss", 0) < 24 * MIB


def test_memory_is_charged_to_the_own_cgroup_from_the_first_page(record: Record) -> None:
    # what a process holds when it is moved stays charged where it was: the job must be inside before exec
    run = record("root", "/bin/sh", "-c", "cat /proc/self/cgroup; sleep 0.3")
    own = run.run["provenance"]["own_cgroup"]
    inside = [line.split(":", 2) for line in run.stdout.splitlines()]
    (memory,) = [path for _, names, path in inside if names in ("memory", "")][:1] or [""]
    assert any(directory.endswith(memory) for directory in own), (own, run.stdout)


LIMIT = 256 * MIB


def assert_killed_at_the_limit(run: Recorded) -> None:
    """Check the exit, the record and the evidence."""
    assert run.exit_code == 137
    assert run.run["exit_code"] == 137
    assert run.run["signal"] == "SIGKILL"
    assert run.run["status"] == "killed"
    assert run.run["limits"]["memory_bytes"] == LIMIT
    # what the kernel logged of it stands beside the kill where it may be read
    told = [event["type"] for event in run.events if event["type"] != "kernel_message"]
    assert told == ["oom_kill"]
    # the own cgroup counts it, or the enclosing one where the limit forbids an own one
    summary = run.run["summary"]
    assert summary.get("cgroup_oom_kill", 0) + summary.get("cgroup_outer_oom_kill", 0) == 1


# the job stays in the limited cgroup, or in the own one below it: joining the oracle's would free it
LIMITED = Wish(limit_bytes=LIMIT, join=False)
GREEDY = ("spike.py", "--size-mib", "400", "--before", "0.2", "--after", "5")


def test_a_job_limited_to_256_mib_still_dies_at_256_mib_in_its_own_cgroup(record: Record) -> None:
    run = record("root", *GREEDY, wish=LIMITED)
    assert_killed_at_the_limit(run)
    assert 0.9 * LIMIT < peak(run)["value"] <= LIMIT


def test_a_job_limited_to_256_mib_still_dies_at_256_mib_without_rights(record: Record) -> None:
    run = record("nobody", *GREEDY, wish=LIMITED)
    assert_killed_at_the_limit(run)
    # resident size contains shared library pages that are charged to nobody here, hence above the limit
    assert peak(run)["low"] <= 1.05 * LIMIT
    assert peak(run)["high"] >= 0.9 * LIMIT
