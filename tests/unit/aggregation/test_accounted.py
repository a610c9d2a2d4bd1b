"""Headlines of imported runs: what another tool accounted for, never exact, never added to what was measured."""

import pytest

from jobmeter.aggregation import energy, headline


@pytest.mark.parametrize(
    "key", ["slurm_cputime", "seff_cputime", "nextflow_cputime", "time_cputime", "docker_cputime"]
)
def test_cpu_time_of_another_tool_is_not_exact(key: str) -> None:
    assert headline.headlines({key: 12.5}, {})["cpu_seconds"] == {
        "value": 12.5,
        "low": 12.5,
        "high": 12.5,
        "keys": [key],
        "exact": False,
    }


@pytest.mark.parametrize(
    "key", ["slurm_maxrss", "seff_memory", "pbs_mem", "nextflow_peak_rss", "time_maxrss"]
)
def test_the_largest_size_another_tool_saw_is_a_lower_bound_and_not_exact(key: str) -> None:
    found = headline.headlines({key: 1000}, {})["memory_peak_bytes"]
    assert (found["value"], found["low"], found["keys"], found["exact"]) == (1000, 1000, [key], False)


def test_memory_of_a_container_lies_between_what_docker_shows_and_what_is_charged() -> None:
    summary = {"docker_peak_mem_used": 700, "docker_peak_mem_usage": 1000}
    found = headline.headlines(summary, {})["memory_peak_bytes"]
    assert (found["value"], found["low"], found["high"]) == (700, 700, 1000)


def test_bytes_of_another_tool_are_not_exact() -> None:
    found = headline.headlines({"slurm_disk_read": 5, "nextflow_write_bytes": 7}, {})
    assert (found["io_read_bytes"]["value"], found["io_write_bytes"]["value"]) == (5, 7)
    assert not found["io_read_bytes"]["exact"]


def test_energy_of_another_tool_stands_only_where_nothing_was_measured() -> None:
    alone = headline.headlines({"slurm_energy": 500}, {})["energy_joules"]
    assert (alone["value"], alone["keys"], alone["exact"]) == (500, ["slurm_energy"], False)
    parts = energy.parts({"slurm_energy": 500, "nvml_energy": 300})
    assert [(part.key, part.joules) for part in parts] == [("nvml_energy", 300)]
    assert [part.method for part in energy.parts({"codecarbon_energy": 5})] == ["another_tool"]
