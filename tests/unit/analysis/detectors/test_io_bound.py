"""Jobs that wait for storage: told where the cores had little to do meanwhile."""

import pytest

from jobmeter.analysis.detectors import io_bound
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Limits
from jobmeter.model.view import RunView, Series
from support import curves

MIB = curves.MIB
OWN, HOST = io_bound.OWN_KEY, io_bound.HOST_KEY
CPUS = Limits(cpus=4.0)


def told(view: RunView) -> list[Finding]:
    return list(io_bound.detect(view))


def doing(cores: float, *, read: float = 0.0, written: float = 0.0, seconds: int = 60) -> list[Series]:
    return [
        curves.cpu([cores] * seconds),
        curves.rate("wait_read_bytes", [read * MIB] * seconds),
        curves.rate("wait_write_bytes", [written * MIB] * seconds),
    ]


def test_a_job_that_waits_for_storage_most_of_the_time_is_told() -> None:
    (found,) = told(
        curves.run(curves.rate(OWN, [0.8] * 60), *doing(0.2, read=30.0, written=2.0), limits=CPUS)
    )
    assert (found.severity, found.key, found.begin) == (Severity.WARNING, OWN, curves.STARTED)
    assert found.sentence == (
        "the job waited for storage 80 % of the time for 1 min 00 s; meanwhile it used 0.2 cores, read 30 MiB/s, "
        "wrote 2 MiB/s"
    )
    assert found.figures["waited_seconds"] == pytest.approx(48.0)
    assert (found.figures["scope"], found.figures["run_ratio"]) == ("job", 0.8)
    assert found.figures["read_bytes_per_second"] == 30 * MIB


def test_a_part_of_a_run_is_worth_a_word() -> None:
    (found,) = told(curves.run(curves.rate(OWN, [0.0] * 80 + [0.9] * 12)))
    assert found.severity is Severity.INFO
    assert found.sentence == "the job waited for storage 90 % of the time for 12 s"
    assert "used_cores" not in found.figures


def test_a_short_run_that_only_waited_counts_too() -> None:
    assert len(told(curves.run(curves.rate(OWN, [0.9] * 4)))) == 1
    assert told(curves.run(curves.rate(OWN, [0.9] * 2))) == []


def test_moments_of_a_long_run_and_a_little_waiting_are_silent() -> None:
    assert told(curves.run(curves.rate(OWN, [0.0] * 400 + [0.9] * 20))) == []
    assert told(curves.run(curves.rate(OWN, [0.2] * 60))) == []
    assert told(curves.run()) == []


def test_a_job_that_computes_meanwhile_is_not_bound_by_storage() -> None:
    pressure = curves.rate(OWN, [0.8] * 60)
    assert told(curves.run(pressure, *doing(3.5, written=90.0), limits=CPUS)) == []
    assert len(told(curves.run(pressure, *doing(3.5, written=90.0)))) == 1


def test_memory_that_is_read_back_is_not_called_storage() -> None:
    pressure = curves.rate(OWN, [0.8] * 60)
    assert told(curves.run(pressure, curves.rate("cgroup_mem_pressure", [0.7] * 60))) == []
    assert len(told(curves.run(pressure, curves.rate("cgroup_mem_pressure", [0.1] * 60)))) == 1


def test_the_waiting_of_the_machine_counts_only_where_the_job_reads_or_writes() -> None:
    pressure = curves.rate(HOST, [0.8] * 60)
    assert told(curves.run(pressure)) == []
    assert told(curves.run(pressure, *doing(0.2, read=0.5))) == []
    (found,) = told(curves.run(pressure, *doing(0.2, read=30.0)))
    assert (found.severity, found.figures["scope"]) == (Severity.INFO, "host")
    assert found.sentence.startswith("some task of the machine waited for storage 80 % of the time")


def test_cores_that_were_not_counted_as_cores_are_not_told() -> None:
    (found,) = told(curves.run(curves.rate(OWN, [0.8] * 60), curves.gauge("buildstats_cpu", [50.0] * 60)))
    assert "used_cores" not in found.figures
