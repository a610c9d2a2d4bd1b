"""Phases in words."""

import numpy as np

from jobmeter.analysis.detectors import phases
from jobmeter.model.report import Severity
from support import curves, views
from support.curves import GIB


def test_each_phase_is_told_with_its_level_and_its_time() -> None:
    values = np.concatenate([np.full(100, 1.0), np.linspace(1, 3, 100), np.full(100, 3.0)]) * GIB
    [found] = phases.detect(curves.run(curves.memory(values)))
    assert found.severity is Severity.INFO
    assert found.sentence == "memory had 3 phases; the highest, 3 GiB, lasted 1 min 40 s"
    assert [one.sentence for one in found.evidence] == [
        "1 GiB for 1 min 40 s",
        "rising from 1 GiB to 3 GiB for 1 min 40 s",
        "3 GiB for 1 min 40 s",
    ]
    assert found.figures["phase_count"] == 3
    assert (found.figures["phase_1_begin_seconds"], found.figures["phase_1_end_seconds"]) == (0.0, 100.0)
    assert found.figures["phase_3_level_bytes"] == 3.0 * GIB


def test_a_phase_that_falls_says_so() -> None:
    cores = np.concatenate([np.full(100, 4.0), np.linspace(4, 1, 100)])
    [found] = phases.detect(curves.run(curves.cpu(cores)))
    assert found.evidence[1].sentence.startswith("falling from 3.97 cores to 1.00 cores")


def test_a_run_of_one_phase_has_nothing_to_tell() -> None:
    assert (
        list(phases.detect(curves.run(curves.memory(GIB + curves.noise(200, 1e6)), curves.cpu([1.0] * 200))))
        == []
    )


def test_cpu_memory_and_gpus_have_phases_of_their_own() -> None:
    step = np.repeat([1.0, 50.0], [60, 60])
    view = curves.run(
        curves.memory(step * GIB), curves.cpu(step), curves.gauge("nvml_util", step, instance="GPU-a")
    )
    assert [one.key for one in phases.detect(view)] == [
        "cgroup_cputime",
        "cgroup_mem_unreclaimable",
        "nvml_util",
    ]


def test_phases_that_all_use_about_as_much_are_not_told() -> None:
    cores = np.concatenate([np.linspace(0.6, 0.4, 100), np.linspace(0.6, 0.4, 100)])
    teeth = np.concatenate([np.linspace(50, 160, 100), np.linspace(50, 160, 100)]) * 2**20
    assert list(phases.detect(curves.run(curves.memory(teeth), curves.cpu(cores)))) == []


def test_starting_up_alone_is_no_phase_worth_telling() -> None:
    values = np.concatenate([np.full(5, 0.1), np.full(95, 1.0)]) * GIB
    assert list(phases.detect(curves.run(curves.memory(values)))) == []


def test_a_machine_that_slept_through_most_of_a_run_does_not_hide_its_phases() -> None:
    levels = np.repeat([1.0, 3.0, 1.0, 3.0], 20) * GIB
    seconds = [*range(1, 41), *range(2001, 2041)]
    slept = views.gauge("cgroup_mem_unreclaimable", list(zip(seconds, levels, strict=True)))
    [found] = phases.detect(curves.run(slept))
    assert found.figures["phase_count"] == 4
