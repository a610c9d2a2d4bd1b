"""Expressions over our metrics that the dashboard and the alert rules share.

Where several sources measure the same, the most trusted that a run has is taken, as the headline numbers do: `or on
(run_id)` adds a source only for runs that lack those before it.
"""

from collections.abc import Sequence

GPU_TOOLS = ("nvml", "nvsmi", "rocm", "apple")
LOSS = '{{metric=~"(.*[/_.])?loss"{more}}}'


def best(metrics: Sequence[str]) -> str:
    """Take the first of some metrics that a run has."""
    return " or on (run_id) ".join(metrics)


def rates(metrics: Sequence[str], selector: str, window: str) -> str:
    """Take the rate of the first of some counters that a run has."""
    return best([f"rate({metric}{selector}[{window}])" for metric in metrics])


def gpus(quantity: str, selector: str) -> str:
    """Take a quantity of GPUs from the most trusted tool that measured a run."""
    tools = GPU_TOOLS[:3] if quantity == "temp_celsius" else GPU_TOOLS
    return best([f"jobmeter_{tool}_{quantity}{selector}" for tool in tools])


def cores(selector: str, window: str) -> str:
    """Give how many cores a run keeps busy."""
    counters = ("cgroup_cputime", "wait_cputime", "cgroup_outer_cputime", "proc_sum_cputime")
    return rates([f"jobmeter_{name}_seconds_total" for name in counters], selector, window)


def memory(selector: str) -> str:
    """Give the memory that a run needs: what only it can give back, else what its processes hold."""
    gauges = ("cgroup_mem_unreclaimable", "proc_sum_pss", "proc_sum_rss", "psutil_sum_rss", "ps_sum_rss")
    return best([f"jobmeter_{name}_bytes{selector}" for name in gauges])


def read(selector: str, window: str) -> str:
    """Give how many bytes a second a run reads."""
    return rates(["jobmeter_cgroup_io_read_bytes_total", "jobmeter_wait_read_bytes_total"], selector, window)


def written(selector: str, window: str) -> str:
    """Give how many bytes a second a run writes."""
    return rates(
        ["jobmeter_cgroup_io_write_bytes_total", "jobmeter_wait_write_bytes_total"], selector, window
    )


def waiting(what: str, selector: str, window: str) -> str:
    """Give the share of time in which a task of a run, or of its host, waited for something."""
    counters = [f"jobmeter_cgroup_{what}_pressure_seconds_total", f"jobmeter_psi_{what}_some_seconds_total"]
    return rates(counters, selector, window)


def loss(selector: str) -> str:
    """Give what a training calls its loss."""
    inside = selector.strip("{}")
    return "jobmeter_step_value" + LOSS.format(more=f", {inside}" if inside else "")


def ended_badly(inside: str, window: str) -> str:
    """Count the runs that ended badly lately; 0 where none did."""
    badly = f'jobmeter_run_state{{state=~"failed|killed|lost", {inside}}}'
    return f"count(max_over_time({badly}[{window}])) or vector(0)"


def states(selector: str) -> str:
    """List runs with their state and what they are called."""
    about = "name, user, program"
    runs = f"max by (run_id, project, host, state) (jobmeter_run_state{selector})"
    return f"{runs} * on (run_id) group_left ({about}) max by (run_id, {about}) (jobmeter_run_info)"
