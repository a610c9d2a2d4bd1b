"""How close a job came to its memory limit, whether it waited for memory, and what of it was swapped out."""

import pytest

from jobmeter.analysis import peaks
from jobmeter.analysis.detectors import memory_pressure, near_limit, swap
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Headline, Limits, Status
from jobmeter.model.view import RunView
from support import curves, views

MIB = curves.MIB
LIMIT = Limits(memory_bytes=1000 * MIB)
HEADLINE = Headline(value=900.0 * MIB, low=900.0 * MIB, high=950.0 * MIB, keys=("slurm_maxrss",), exact=False)


def one(found: object) -> Finding:
    [finding] = list(found)  # type: ignore[call-overload]  # detectors give iterables
    assert isinstance(finding, Finding)
    return finding


# near_limit


@pytest.mark.parametrize(
    ("peak", "severity"), [(860, Severity.WARNING), (949, Severity.WARNING), (950, Severity.CRITICAL)]
)
def test_memory_near_the_limit_is_told(peak: int, severity: Severity) -> None:
    view = curves.run(
        curves.memory([100 * MIB, peak * MIB, 200 * MIB]),
        limits=LIMIT,
        context={"limits": {"memory_source": "cgroup"}},
    )
    found = one(near_limit.detect(view))
    assert found.severity is severity
    assert found.figures["ratio"] == peak / 1000
    assert found.figures["limit_source"] == "cgroup"
    assert found.begin == curves.STARTED + 2
    assert f"needed {peak} MiB of the 1000 MiB of memory it may use" in found.sentence


def test_memory_far_from_the_limit_is_silent_and_so_is_a_job_without_one() -> None:
    assert list(near_limit.detect(curves.run(curves.memory([840.0 * MIB]), limits=LIMIT))) == []
    assert list(near_limit.detect(curves.run(curves.memory([840.0 * MIB])))) == []
    assert list(near_limit.detect(curves.run(curves.memory([1.0]), limits=Limits(memory_bytes=0)))) == []
    assert list(near_limit.detect(curves.run(limits=LIMIT))) == []


def test_page_cache_that_fills_the_limit_is_no_need() -> None:
    view = curves.run(
        curves.memory([60 * MIB, 80 * MIB]),
        curves.gauge("cgroup_mem_current", [900 * MIB, 1000 * MIB]),
        limits=LIMIT,
        summary={"cgroup_mem_peak": 1000 * MIB, "cgroup_peak_mem_file": 910 * MIB},
    )
    assert list(near_limit.detect(view)) == []


def test_names_the_kernel_remembers_are_no_need() -> None:
    summary = {
        "cgroup_mem_peak": 1000 * MIB, "cgroup_peak_mem_file": 0, "cgroup_peak_mem_kernel": 900 * MIB,
    }  # fmt: skip
    assert list(near_limit.detect(curves.run(curves.memory([60 * MIB]), limits=LIMIT, summary=summary))) == []


def test_a_peak_between_two_samples_counts_for_a_job_that_cached_little() -> None:
    summary = {"cgroup_mem_peak": 990 * MIB, "cgroup_peak_mem_file": 20 * MIB}
    found = one(near_limit.detect(curves.run(curves.memory([60 * MIB]), limits=LIMIT, summary=summary)))
    assert found.key == "cgroup_mem_peak"
    assert found.figures["peak_bytes"] == 970 * MIB
    assert found.begin is None


def test_an_imported_run_is_judged_by_its_headline() -> None:
    found = one(near_limit.detect(curves.run(headline={"memory_peak_bytes": HEADLINE}, limits=LIMIT)))
    assert found.key == "slurm_maxrss"
    assert found.figures["ratio"] == 0.9
    assert "limit_source" not in found.figures


def test_a_limit_that_nobody_held_the_job_to_is_no_danger() -> None:
    passed = curves.run(curves.memory([1019 * MIB]), limits=LIMIT, status=Status.COMPLETED)
    found = one(near_limit.detect(passed))
    assert found.severity is Severity.WARNING
    assert found.sentence.endswith("102 %; nobody held it to that")
    killed = curves.run(curves.memory([1019 * MIB]), limits=LIMIT, status=Status.KILLED)
    assert one(near_limit.detect(killed)).severity is Severity.CRITICAL


def test_a_machine_that_was_nearly_full_is_named_as_such() -> None:
    context = {"limits": {"memory_source": "host"}, "monitoring": {"memory_warning_threshold": 0.5}}
    found = one(near_limit.detect(curves.run(curves.memory([600 * MIB]), limits=LIMIT, context=context)))
    assert "of memory the machine has" in found.sentence


def test_sizes_of_processes_stand_in_where_no_cgroup_was_read() -> None:
    rss = curves.gauge("proc_rss_total", [10.0, 30.0, 20.0])
    assert peaks.memory_peak(curves.run(rss)) == peaks.Peak("proc_rss_total", 30.0, curves.STARTED + 2)
    peak = peaks.memory_peak(curves.run(rss, headline={"memory_peak_bytes": HEADLINE}))
    assert peak == peaks.Peak("slurm_maxrss", 900.0 * MIB, curves.STARTED + 2)
    summed = curves.run(summary={"cgroup_peak_mem_unreclaimable": 7})
    assert peaks.memory_peak(summed) == peaks.Peak("cgroup_peak_mem_unreclaimable", 7.0)


# memory_pressure


def waiting(shares: list[float], key: str = "cgroup_mem_pressure", **facts: object) -> RunView:
    return curves.run(curves.rate(key, shares), **facts)


def test_a_job_that_waits_for_memory_is_warned_of() -> None:
    found = one(memory_pressure.detect(waiting([0.0] * 20 + [0.3] * 15 + [0.0] * 20)))
    assert found.severity is Severity.WARNING
    assert found.sentence == "the job waited for memory 30 % of the time for 15 s"
    assert found.figures["pressure_ratio"] == 0.3
    assert found.figures["scope"] == "job"
    assert (found.begin, found.end) == (curves.STARTED + 20, curves.STARTED + 35)


def test_a_job_that_hardly_moves_is_critical() -> None:
    assert one(memory_pressure.detect(waiting([0.8] * 40))).severity is Severity.CRITICAL


def test_a_short_job_under_pressure_counts_and_a_moment_of_it_does_not() -> None:
    assert one(memory_pressure.detect(waiting([0.0] * 4 + [0.4] * 4))).figures["seconds"] == 4.0
    assert list(memory_pressure.detect(waiting([0.0] * 50 + [0.9] * 5))) == []
    assert list(memory_pressure.detect(waiting([0.05] * 50))) == []
    assert list(memory_pressure.detect(curves.run())) == []


def test_the_machines_pressure_weighs_less_than_the_jobs() -> None:
    found = one(memory_pressure.detect(waiting([0.3] * 15, "psi_mem_some")))
    assert found.severity is Severity.INFO
    assert found.sentence.startswith("some task of the machine waited for memory")
    assert one(memory_pressure.detect(waiting([0.9] * 60, "psi_mem_some"))).severity is Severity.WARNING


def test_waiting_for_page_cache_is_told_as_such() -> None:
    view = curves.run(
        curves.rate("cgroup_mem_pressure", [0.9] * 60), curves.memory([60 * MIB] * 60), limits=LIMIT
    )
    found = one(memory_pressure.detect(view))
    assert found.severity is Severity.INFO
    assert "for its page cache to be written and dropped" in found.sentence
    needy = curves.run(
        curves.rate("cgroup_mem_pressure", [0.9] * 60), curves.memory([600 * MIB] * 60), limits=LIMIT
    )
    assert one(memory_pressure.detect(needy)).severity is Severity.CRITICAL


# swap


def test_memory_of_the_job_in_swap_is_told() -> None:
    swapped = curves.gauge("cgroup_mem_swap", [0.0, 100 * MIB, 200 * MIB, 0.0])
    found = one(swap.detect(curves.run(swapped, curves.memory([600 * MIB] * 4))))
    assert found.severity is Severity.WARNING
    assert found.figures == {"swap_bytes": 200 * MIB, "ratio": 0.25}
    assert found.sentence.startswith("200 MiB of the job lay in swap, beside at most 600 MiB in memory")
    assert (found.begin, found.end) == (curves.STARTED + 2, curves.STARTED + 3)


def test_a_little_swap_is_worth_a_word_and_less_than_that_nothing() -> None:
    view = curves.run(curves.gauge("cgroup_mem_swap", [20 * MIB]), curves.memory([600 * MIB]))
    assert one(swap.detect(view)).severity is Severity.INFO
    assert list(swap.detect(curves.run(curves.gauge("cgroup_mem_swap", [8 * MIB])))) == []


def test_a_summary_alone_tells_of_swap_too() -> None:
    found = one(swap.detect(curves.run(summary={"cgroup_peak_mem_swap": 64 * MIB})))
    assert (found.begin, found.severity) == (None, Severity.WARNING)


def test_of_the_machines_swap_only_growth_counts() -> None:
    grown = views.gauge("host_swap_used", [(1, 900 * MIB), (2, 100 * MIB), (3, 500 * MIB), (4, 0)])
    found = one(swap.detect(curves.run(grown)))
    assert found.severity is Severity.INFO
    assert found.figures == {"host_swap_growth_bytes": 400 * MIB}
    assert (found.begin, found.end) == (curves.STARTED + 2, curves.STARTED + 3)
    assert list(swap.detect(curves.run(curves.gauge("host_swap_used", [900 * MIB] * 3)))) == []
    assert list(swap.detect(curves.run())) == []
