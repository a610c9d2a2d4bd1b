import pytest

from jobmeter.analysis.sizing import cores, resources
from jobmeter.analysis.sizing.facts import RunFacts
from jobmeter.model.sizing import Advice, Confidence, Resource

GIB, MIB = 1 << 30, 1 << 20


def ended(memory_bytes: float = 2 * GIB, **facts: object) -> RunFacts:
    known: dict[str, object] = {"ended_well": True, "wall_seconds": 600.0, "memory_bytes": memory_bytes}
    return RunFacts(**(known | facts))  # type: ignore[arg-type]  # facts of a test


def advice(resource: Resource, *runs: RunFacts) -> Advice:
    return resources.size("job", runs).advice[resource]


def test_one_run_is_not_enough() -> None:
    sized = resources.size("job", [ended(cores=1.0, gpus=1)])
    assert sized.advice == {}
    assert sized.missing == {
        Resource.MEMORY: "not enough data: 1 of at least 2 runs that ended well tell of it",
        Resource.CPUS: "not enough data: 1 of at least 2 runs that ended well tell of it",
        Resource.TIME: "not enough data: 1 of at least 2 runs that ended well tell of it",
        Resource.GPUS: "not enough data: 1 of at least 2 runs that ended well tell of it",
    }


def test_runs_that_tell_nothing_are_counted_and_not_learned_from() -> None:
    failed = RunFacts(ended_well=False, memory_bytes=9 * GIB)
    sized = resources.size("job", [failed, ended(0), RunFacts(ended_well=True), ended()])
    assert sized.runs == 4
    assert sized.missing[Resource.MEMORY].startswith("not enough data: 1 of")
    assert sized.missing[Resource.GPUS] == "no GPU was seen"


def test_memory_is_advised_in_whole_mebibytes_with_what_it_was_learned_from() -> None:
    one = advice(Resource.MEMORY, *[ended(2 * GIB + n * MIB, asked_memory_bytes=16 * GIB) for n in range(30)])
    assert one.advised % MIB == 0
    assert 2 * GIB + 29 * MIB <= one.advised <= 2.6 * GIB
    assert (one.asked, one.runs, one.largest) == (16 * GIB, 30, 2 * GIB + 29 * MIB)
    assert one.typical == 2 * GIB + 14.5 * MIB
    assert one.confidence is Confidence.HIGH
    assert one.saving == pytest.approx(0.85, abs=0.02)
    assert one.low < one.typical < one.high
    assert " x " in one.method


def test_few_runs_give_little_confidence_and_some_runs_more() -> None:
    assert advice(Resource.MEMORY, *[ended()] * 3).confidence is Confidence.LOW
    assert advice(Resource.MEMORY, *[ended()] * 12).confidence is Confidence.MEDIUM


def test_no_job_is_advised_to_ask_for_less_than_a_runtime_starts_in() -> None:
    assert advice(Resource.MEMORY, *[ended(3 * MIB)] * 5).advised == 64 * MIB


def test_what_was_always_enough_is_enough() -> None:
    one = advice(Resource.MEMORY, ended(3.9 * GIB), ended(3.8 * GIB, asked_memory_bytes=4 * GIB))
    assert one.advised == 4 * GIB
    assert one.saving == 0


def test_a_run_killed_for_memory_needed_more_than_it_had() -> None:
    killed = RunFacts(
        ended_well=False,
        ran_out_of=Resource.MEMORY,
        memory_bytes=4 * GIB,
        asked_memory_bytes=4 * GIB,
        wall_seconds=60,
    )
    one = advice(
        Resource.MEMORY, ended(asked_memory_bytes=4 * GIB), ended(asked_memory_bytes=4 * GIB), killed
    )
    assert one.largest == pytest.approx(4.8 * GIB)
    assert one.advised > 4.8 * GIB
    assert one.saving is not None
    assert one.saving < 0


def test_the_time_limit_is_in_whole_minutes_and_counts_runs_that_hit_it() -> None:
    cut_off = RunFacts(ended_well=False, ran_out_of=Resource.TIME, wall_seconds=3600, asked_seconds=3600)
    one = advice(Resource.TIME, *[ended(wall_seconds=1800.0)] * 5, cut_off)
    assert one.largest == 4320
    assert one.asked == 3600
    assert one.advised % 60 == 0
    assert advice(Resource.TIME, *[ended(wall_seconds=2.0)] * 5).advised == 60
    # long jobs are rounded to more than minutes
    assert advice(Resource.TIME, *[ended(wall_seconds=360_000.0)] * 9).advised % 3840 == 0


def test_the_size_of_the_next_input_is_said_and_used() -> None:
    runs = [ended(n * GIB, input_bytes=n * 1e9, asked_memory_bytes=64 * GIB) for n in range(1, 25)]
    sized = resources.size("job", runs, input_bytes=3e9)
    assert sized.input_bytes == 3e9
    assert 3 * GIB <= sized.advice[Resource.MEMORY].advised <= 4.6 * GIB


def test_cores_that_were_sampled_are_taken_as_they_are() -> None:
    one = advice(Resource.CPUS, *[ended(cores=3.0, is_sampled=True, asked_cpus=8.0)] * 6)
    assert (one.advised, one.asked, one.method) == (3, 8, "cores used over time")
    assert one.failure_probability == pytest.approx(0.5 / 7)
    assert one.saving == pytest.approx(0.625)
    assert one.confidence is Confidence.MEDIUM


def test_a_mean_gets_room_for_what_it_hides_but_never_more_than_was_asked() -> None:
    assert advice(Resource.CPUS, *[ended(cores=3.5)] * 2).advised == 5
    assert advice(Resource.CPUS, *[ended(cores=3.9, asked_cpus=4.0)] * 2).advised == 4
    assert advice(Resource.CPUS, *[ended(cores=0.2, asked_cpus=0.5)] * 2).advised == 1


def test_cores_are_enough_for_nine_of_ten_runs() -> None:
    runs = [ended(cores=2.0, is_sampled=True)] * 19 + [ended(cores=9.0, is_sampled=True)]
    one = advice(Resource.CPUS, *runs)
    assert one.advised == 2
    assert one.failure_probability == pytest.approx(1.5 / 21)


def test_gpus_that_never_worked_are_not_asked_for_again() -> None:
    one = advice(Resource.GPUS, ended(gpus=1, asked_gpus=4.0), ended(gpus=2, asked_gpus=4.0))
    assert (one.advised, one.asked, one.saving) == (2, 4, 0.5)


def test_work_that_comes_in_bursts_needs_the_cores_of_its_bursts() -> None:
    assert cores.needed([10, 10, 10], [10, 10, 10]) == 1
    assert cores.needed([10, 80], [10, 10]) == 8
    # a burst of one second in a hundred may take a little longer
    assert cores.needed([99, 4], [99, 1]) == 1
    assert cores.needed([0.1], [10]) == 1


def test_without_windows_the_cores_are_not_known() -> None:
    assert cores.needed([], []) is None
    assert cores.needed([3], [0]) is None
