"""The numbers of record: which rung of the ladder speaks, and how sure it is."""

import pytest

from jobmeter.aggregation import headline

MIB = 1 << 20


def test_nothing_measured_gives_no_headline() -> None:
    assert headline.headlines({}, {}) == {}


@pytest.mark.parametrize(
    ("summary", "key", "value"),
    [
        ({"cgroup_cputime": 12.05, "wait_cputime": 12.0, "proc_cputime_total": 3.0}, "cgroup_cputime", 12.05),
        ({"wait_cputime": 12.0, "wait_task_clock": 12.4, "cgroup_outer_cputime": 30.0}, "wait_cputime", 12.0),
        ({"wait_cputime": 0.0, "proc_cputime_total": 0.0}, "wait_cputime", 0.0),
    ],
)
def test_the_highest_exact_rung_is_the_cpu_time(summary: dict[str, float], key: str, value: float) -> None:
    assert headline.cpu_seconds(summary, {}) == {
        "value": value,
        "low": value,
        "high": value,
        "keys": [key],
        "exact": True,
    }


def test_a_doubtful_cgroup_leaves_the_word_to_the_telescoping_sum() -> None:
    doubt = {"cgroup_cputime": "processes left the job's cgroup"}
    found = headline.cpu_seconds({"cgroup_cputime": 5.0, "wait_cputime": 9.0}, doubt)
    assert found == {"value": 9.0, "low": 9.0, "high": 9.0, "keys": ["wait_cputime"], "exact": True}


def test_lost_children_are_known_from_perf_and_bounded_by_what_was_waited_for() -> None:
    doubt = {"wait_cputime": "sh ignores SIGCHLD"}
    found = headline.cpu_seconds(
        {"wait_cputime": 4.0, "wait_task_clock": 10.0, "proc_cputime_total": 3.0}, doubt
    )
    assert found == {"value": 10.0, "low": 4.0, "high": 10.0, "keys": ["wait_task_clock"], "exact": False}


def test_sampling_alone_is_a_lower_bound() -> None:
    found = headline.cpu_seconds({"ps_cputime_total": 3.0, "psutil_cputime_total": 3.5}, {})
    assert found == {"value": 3.5, "low": 3.5, "high": 3.5, "keys": ["psutil_cputime_total"], "exact": False}


def test_perf_alone_has_no_lower_bound() -> None:
    found = headline.cpu_seconds({"wait_task_clock": 10.0}, {})
    assert found == {"value": 10.0, "low": 0.0, "high": 10.0, "keys": ["wait_task_clock"], "exact": False}


def test_text_is_not_a_number() -> None:
    assert headline.cpu_seconds({"cgroup_cputime": "broken"}, {}) is None


def test_memory_is_the_charged_peak_less_the_page_cache() -> None:
    found = headline.memory_peak(
        {
            "cgroup_mem_peak": 900 * MIB,
            "cgroup_peak_mem_file": 300 * MIB,
            "cgroup_peak_mem_unreclaimable": 500 * MIB,
            "wait_maxrss": 400 * MIB,
        },
        {},
    )
    assert found == {
        "value": 600 * MIB,
        "low": 500 * MIB,
        "high": 900 * MIB,
        "keys": ["cgroup_mem_peak", "cgroup_peak_mem_file"],
        "exact": False,
    }


def test_memory_seen_at_its_highest_is_exact() -> None:
    found = headline.memory_peak(
        {"cgroup_mem_peak": 500 * MIB, "cgroup_peak_mem_unreclaimable": 495 * MIB}, {}
    )
    assert found == {
        "value": 500 * MIB,
        "low": 495 * MIB,
        "high": 500 * MIB,
        "keys": ["cgroup_mem_peak"],
        "exact": True,
    }


def test_what_was_needed_outweighs_what_the_cache_leaves() -> None:
    found = headline.memory_peak(
        {
            "cgroup_mem_peak": 900 * MIB,
            "cgroup_peak_mem_file": 800 * MIB,
            "cgroup_peak_mem_unreclaimable": 300 * MIB,
            "proc_peak_pss_total": 310 * MIB,
        },
        {},
    )
    assert found == {
        "value": 300 * MIB,
        "low": 300 * MIB,
        "high": 900 * MIB,
        "keys": ["cgroup_peak_mem_unreclaimable"],
        "exact": False,
    }


def test_a_process_that_held_more_than_was_charged_may_need_it() -> None:
    """Pages that were charged to whoever touched them first are charged to the job where it runs alone."""
    found = headline.memory_peak({"cgroup_mem_peak": 100 * MIB, "wait_maxrss": 300 * MIB}, {})
    assert found == {
        "value": 100 * MIB,
        "low": 100 * MIB,
        "high": 300 * MIB,
        "keys": ["cgroup_mem_peak"],
        "exact": False,
    }


def test_library_pages_charged_elsewhere_leave_a_large_job_exact() -> None:
    found = headline.memory_peak({"cgroup_mem_peak": 1000 * MIB, "wait_maxrss": 1006 * MIB}, {})
    assert found is not None
    assert (found["value"], found["high"], found["exact"]) == (1000 * MIB, 1006 * MIB, True)


def test_cache_within_the_charge_is_not_what_the_job_needs_at_least() -> None:
    summary = {
        "cgroup_mem_peak": 100 * MIB,
        "cgroup_peak_mem_file": 60 * MIB,
        "cgroup_peak_mem_unreclaimable": 35 * MIB,
        "wait_maxrss": 101 * MIB,
    }
    found = headline.memory_peak(summary, {})
    assert found is not None
    assert (found["value"], found["low"], found["high"]) == (100 * MIB, 40 * MIB, 101 * MIB)
    assert found["exact"] is False


def test_unreclaimable_memory_read_above_the_charged_peak_is_the_peak() -> None:
    """The two are read one after the other: growth in between is no more cache than the rest."""
    summary = {"cgroup_mem_peak": 100 * MIB, "cgroup_peak_mem_unreclaimable": 101 * MIB}
    found = headline.memory_peak(summary, {})
    assert found is not None
    assert (found["value"], found["low"], found["high"]) == (101 * MIB, 101 * MIB, 101 * MIB)
    assert found["exact"] is True


def test_a_charged_peak_alone_is_an_upper_bound() -> None:
    found = headline.memory_peak({"cgroup_mem_peak": 100 * MIB}, {})
    assert found == {
        "value": 100 * MIB,
        "low": 0.0,
        "high": 100 * MIB,
        "keys": ["cgroup_mem_peak"],
        "exact": False,
    }


def test_without_a_cgroup_shared_pages_and_sums_bound_the_memory() -> None:
    found = headline.memory_peak(
        {"proc_peak_pss_total": 500 * MIB, "proc_peak_hwm_total": 800 * MIB, "wait_maxrss": 400 * MIB}, {}
    )
    assert found == {
        "value": 500 * MIB,
        "low": 500 * MIB,
        "high": 800 * MIB,
        "keys": ["proc_peak_pss_total"],
        "exact": False,
    }


def test_a_process_that_grew_after_its_last_look_may_come_on_top() -> None:
    found = headline.memory_peak(
        {"proc_peak_hwm_total": 500 * MIB, "proc_hwm_bound": 900 * MIB, "wait_maxrss": 400 * MIB}, {}
    )
    assert found == {
        "value": 400 * MIB,
        "low": 400 * MIB,
        "high": 900 * MIB,
        "keys": ["wait_maxrss"],
        "exact": False,
    }


def test_processes_that_were_never_sampled_may_have_been_several_at_once() -> None:
    found = headline.memory_peak({"wait_maxrss": 400 * MIB}, {})
    assert found == {
        "value": 400 * MIB,
        "low": 400 * MIB,
        "high": 400 * MIB,
        "keys": ["wait_maxrss"],
        "exact": False,
    }


def test_memory_whose_bounds_meet_is_exact_unless_something_is_in_doubt() -> None:
    met = {"proc_peak_pss_total": 400 * MIB, "proc_peak_hwm_total": 400 * MIB}
    sure, unsure = headline.memory_peak(met, {}), headline.memory_peak(met, {"wait_cputime": "attached"})
    assert sure is not None
    assert sure["exact"] is True
    assert unsure is not None
    assert unsure["exact"] is False


def test_a_job_smaller_than_the_recorder_has_only_an_upper_bound() -> None:
    found = headline.memory_peak({"wait_maxrss_floor": 12 * MIB}, {})
    assert found == {
        "value": 12 * MIB,
        "low": 0.0,
        "high": 12 * MIB,
        "keys": ["wait_maxrss_floor"],
        "exact": False,
    }


def test_io_is_what_the_kernel_accounted_else_what_the_cgroup_saw() -> None:
    found = headline.headlines(
        {"wait_read_bytes": 4096, "cgroup_io_read": 9999, "cgroup_io_write": 8192},
        {},
    )
    assert found == {
        "io_read_bytes": {
            "value": 4096,
            "low": 4096,
            "high": 4096,
            "keys": ["wait_read_bytes"],
            "exact": True,
        },
        "io_write_bytes": {
            "value": 8192,
            "low": 8192,
            "high": 8192,
            "keys": ["cgroup_io_write"],
            "exact": False,
        },
    }


def test_io_that_could_not_be_read_of_every_process_is_inexact() -> None:
    found = headline.headlines({"wait_read_bytes": 4096}, {"wait_read_bytes": "processes of another user"})
    assert found["io_read_bytes"]["exact"] is False


def test_gpu_utilisation_is_the_mean_of_the_most_trusted_tool() -> None:
    found = headline.gpu_util({"nvsmi_mean_util": 80.0, "nvml_mean_util": 81.5})
    assert found == {"value": 81.5, "low": 81.5, "high": 81.5, "keys": ["nvml_mean_util"], "exact": False}


def test_gpu_memory_is_what_the_jobs_processes_held_and_at_most_what_was_in_use() -> None:
    summary = {"nvml_peak_proc_mem_total": 30 * MIB, "nvml_peak_mem_used_total": 34 * MIB}
    assert headline.gpu_memory_peak(summary) == {
        "value": 30 * MIB,
        "low": 30 * MIB,
        "high": 34 * MIB,
        "keys": ["nvml_peak_proc_mem_total"],
        "exact": False,
    }


def test_what_one_gpu_of_several_held_bounds_nothing() -> None:
    summary = {
        "nvml_peak_proc_mem_total": 60 * MIB,
        "nvml_peak_mem_used_total": 64 * MIB,
        "nvml_peak_mem_used": 34 * MIB,
    }
    found = headline.gpu_memory_peak(summary)
    assert found is not None
    assert (found["low"], found["value"], found["high"]) == (60 * MIB, 60 * MIB, 64 * MIB)


def test_without_processes_gpu_memory_is_what_was_in_use() -> None:
    found = headline.gpu_memory_peak({"nvsmi_peak_mem_used": 34 * MIB})
    assert found is not None
    assert (found["value"], found["keys"]) == (34 * MIB, ["nvsmi_peak_mem_used"])
