"""What must hold between the numbers of one run: counters never fall, and lines add up to the summary."""

from collections.abc import Callable

import pytest

from harness.recorded import Recorded

Record = Callable[..., Recorded]
Storms = Callable[[str], Recorded]


def job_counters(run: Recorded) -> list[str]:
    """List the keys of the run's own definitions that are counters of the job."""
    definitions = run.run["measurements"]
    return [d["key"] for d in definitions if d["kind"] == "counter" and d["scope"] == "job"]


def falls(run: Recorded) -> list[tuple[str, float]]:
    """List every negative delta of any counter, also those of single processes."""
    counters = [d["key"] for d in run.run["measurements"] if d["kind"] == "counter"]
    found = []
    for line in run.usage:
        for key in counters:
            value = line["measurements"].get(key, 0)
            values = value.values() if isinstance(value, dict) else [value]
            found += [(key, delta) for delta in values if delta < 0]
    return found


def mismatches(run: Recorded) -> list[tuple[str, float, float]]:
    """List the counters whose lines do not add up to the summary."""
    wrong = []
    for key in job_counters(run):
        totals = [total for _, total in run.cumulated(key)]
        if totals and totals[-1] != pytest.approx(run.run["summary"][key], abs=1e-3, rel=1e-6):
            wrong.append((key, totals[-1], run.run["summary"][key]))
    return wrong


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_counters_never_go_down_while_processes_come_and_go(storms: Storms, who: str) -> None:
    assert falls(storms(who)) == []


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_the_lines_of_a_storm_add_up_to_its_summary(storms: Storms, who: str) -> None:
    assert mismatches(storms(who)) == []


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_the_lines_of_writers_that_end_add_up_to_the_summary(record: Record, who: str) -> None:
    script = (
        "for i in 1 2 3; do dd if=/dev/zero of=b bs=1M count=8 conv=fsync status=none; sleep 0.3; done; rm b"
    )
    run = record(who, "/bin/bash", "-c", script)
    assert falls(run) == []
    assert mismatches(run) == []


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_windows_follow_one_another_without_gap_or_overlap(storms: Storms, who: str) -> None:
    ends: dict[str, float] = {}
    for line in storms(who).usage:
        if line["num_samples"] != 1:
            continue
        for source, (begin, end) in line["clock"].items():
            assert begin < end
            assert begin == ends.get(source, begin)
            ends[source] = end
    assert {"wait", "proc"} <= ends.keys()


@pytest.mark.parametrize("who", ["root", "nobody"])
def test_samples_come_on_time_in_a_storm(storms: Storms, who: str) -> None:
    run = storms(who)
    stamps = [moment for moment, _ in run.cumulated("wait_cputime")]
    assert len(stamps) >= run.run["wall_seconds"] / 0.5 * 0.9
