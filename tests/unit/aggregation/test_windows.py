"""Windows: what readings fold into, and that nothing is lost, doubled or invented on the way."""

from jobmeter.aggregation import windows
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Unit

CPU = Measurement("proc_cputime", Kind.COUNTER, Unit.SECONDS, Scope.PROCESS, (Reduce.DELTA,), (), "cpu")
RSS = Measurement("proc_rss", Kind.GAUGE, Unit.BYTES, Scope.PROCESS, (Reduce.MAX, Reduce.LAST), (), "rss")
FREE = Measurement("host_free", Kind.GAUGE, Unit.BYTES, Scope.HOST, (Reduce.MIN,), (), "free")
RATE = Measurement("proc_pdcpu", Kind.GAUGE, Unit.PERCENT, Scope.PROCESS, (Reduce.MAX,), (), "rate")
STATE = Measurement("proc_state", Kind.CATEGORICAL, Unit.NONE, Scope.PROCESS, (Reduce.TALLY,), (), "state")
CMD = Measurement("proc_cmd", Kind.LABEL, Unit.NONE, Scope.PROCESS, (Reduce.LAST,), (), "command line")
NET = Measurement("host_net", Kind.COUNTER, Unit.BYTES, Scope.HOST, (Reduce.DELTA,), (), "bytes received")
MEAN = Measurement("host_load", Kind.GAUGE, Unit.NONE, Scope.HOST, (Reduce.MEAN,), (), "load")
ALL = {m.key: m for m in (CPU, RSS, FREE, RATE, STATE, CMD, NET, MEAN)}


def counts_from_zero(definition: Measurement) -> bool:
    """The job's own counters begin with the job, the host's have counted since it booted."""
    return definition.scope is Scope.PROCESS


def make_buffer(begin: float = 100.0) -> windows.Buffer:
    return windows.Buffer(ALL, counts_from_zero, begin)


def test_a_counter_is_the_sum_of_what_each_process_added() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_cputime", "7@1", 1.0), ("proc_cputime", "8@1", 0.5)])
    buffer.add("proc", 102.0, [("proc_cputime", "7@1", 1.25), ("proc_cputime", "8@1", 2.0)])
    assert buffer.fold() == {("proc_cputime", "7@1"): 1.25, ("proc_cputime", "8@1"): 2.0}
    buffer.commit(buffer.fold())
    buffer.add("proc", 103.0, [("proc_cputime", "7@1", 1.5)])
    assert buffer.fold() == {("proc_cputime", "7@1"): 0.25}


def test_a_process_that_ended_still_counts() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_cputime", "7@1", 3.0), ("proc_cputime", "8@1", 1.0)])
    buffer.add("proc", 102.0, [("proc_cputime", "8@1", 1.5)])
    assert buffer.fold() == {("proc_cputime", "7@1"): 3.0, ("proc_cputime", "8@1"): 1.5}


def test_a_window_that_was_dropped_is_carried_by_the_next() -> None:
    buffer = make_buffer()
    buffer.add(
        "proc", 101.0, [("proc_cputime", "7@1", 1.0), ("proc_rss", "7@1", 900), ("proc_state", "7@1", "R")]
    )
    buffer.fold()
    buffer.add(
        "proc", 102.0, [("proc_cputime", "7@1", 4.0), ("proc_rss", "7@1", 100), ("proc_state", "7@1", "S")]
    )
    assert buffer.fold() == {
        ("proc_cputime", "7@1"): 4.0,
        ("proc_rss", "7@1"): 900,
        ("proc_last_rss", "7@1"): 100,
        ("proc_state", "7@1"): {"R": 1, "S": 1},
    }
    assert buffer.clock() == {"proc": (100.0, 102.0)}


def test_folding_twice_gives_the_same() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_cputime", "7@1", 1.0), ("proc_state", "7@1", "R")])
    first = dict(buffer.fold())
    assert buffer.fold() == first == {("proc_cputime", "7@1"): 1.0, ("proc_state", "7@1"): {"R": 1}}


def test_a_counter_that_ran_before_the_job_is_counted_from_the_first_look() -> None:
    buffer = make_buffer()
    buffer.add("host", 101.0, [("host_net", "", 5_000_000)])
    assert buffer.fold() == {}
    buffer.commit(buffer.fold())
    buffer.add("host", 102.0, [("host_net", "", 5_000_700)])
    assert buffer.fold() == {("host_net", ""): 700}


def test_a_first_look_that_was_dropped_is_still_the_baseline() -> None:
    buffer = make_buffer()
    buffer.add("host", 101.0, [("host_net", "", 5_000_000), ("host_free", "", 10)])
    buffer.fold()
    buffer.add("host", 102.0, [("host_net", "", 5_000_700)])
    assert buffer.fold()["host_net", ""] == 700


def test_a_counter_that_restarted_counts_what_it_has_now() -> None:
    buffer = make_buffer()
    buffer.add("host", 101.0, [("host_net", "", 1000)])
    buffer.fold()
    buffer.commit(buffer.fold())
    buffer.add("host", 102.0, [("host_net", "", 40)])
    assert buffer.fold() == {("host_net", ""): 40}
    buffer.commit(buffer.fold())
    buffer.add("host", 103.0, [("host_net", "", 65)])
    assert buffer.fold() == {("host_net", ""): 25}


def test_a_whole_number_stays_whole() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_cputime", "7@1", 3)])
    assert repr(buffer.fold()["proc_cputime", "7@1"]) == "3"


def test_the_maximum_of_a_window_includes_what_stood_when_it_began() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_rss", "7@1", 900)])
    buffer.fold()
    buffer.commit(buffer.fold())
    buffer.add("proc", 102.0, [("proc_rss", "7@1", 200)])
    assert buffer.fold() == {("proc_rss", "7@1"): 900, ("proc_last_rss", "7@1"): 200}
    buffer.commit(buffer.fold())
    buffer.add("proc", 103.0, [("proc_rss", "7@1", 300)])
    assert buffer.fold() == {("proc_rss", "7@1"): 300, ("proc_last_rss", "7@1"): 300}


def test_the_rate_of_an_earlier_interval_does_not_stand() -> None:
    """A process that burned a core until the window began and then slept used 3 %, not 100 %."""
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_pdcpu", "7@1", 100.0)])
    buffer.fold()
    buffer.commit(buffer.fold())
    buffer.add("proc", 102.0, [("proc_pdcpu", "7@1", 3.0)])
    assert buffer.fold() == {("proc_pdcpu", "7@1"): 3.0}


def test_a_host_gauge_stands_for_its_own_window_only() -> None:
    buffer = make_buffer()
    buffer.add("host", 101.0, [("host_free", "", 10)])
    assert buffer.fold() == {("host_free", ""): 10}
    buffer.commit(buffer.fold())
    buffer.add("host", 102.0, [("host_free", "", 500)])
    buffer.add("host", 103.0, [("host_free", "", 400)])
    assert buffer.fold() == {("host_free", ""): 400}


def test_states_are_tallied() -> None:
    buffer = make_buffer()
    for moment, state in enumerate("RRSR"):
        buffer.add("proc", 101.0 + moment, [("proc_state", "7@1", state)])
    assert buffer.fold() == {("proc_state", "7@1"): {"R": 3, "S": 1}}


def test_a_label_on_the_disk_is_not_said_again() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_cmd", "7@1", "sh -c make")])
    buffer.commit(buffer.fold())
    buffer.add("proc", 102.0, [("proc_cmd", "7@1", "sh -c make"), ("proc_rss", "7@1", 5)])
    assert ("proc_cmd", "7@1") not in buffer.fold()
    buffer.add("proc", 103.0, [("proc_cmd", "7@1", "make"), ("proc_cmd", "7@1", "sh -c make")])
    assert buffer.fold()["proc_cmd", "7@1"] == "sh -c make"


def test_a_process_that_was_too_small_to_be_listed_is_named_once_it_is() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_cmd", "7@1", "sleep 9"), ("proc_rss", "7@1", 5)])
    buffer.fold()
    buffer.commit({("proc_rss", "rest"): 5})
    buffer.add("proc", 102.0, [("proc_cmd", "7@1", "sleep 9"), ("proc_rss", "7@1", 500)])
    assert buffer.fold()["proc_cmd", "7@1"] == "sleep 9"


def test_a_label_is_the_newest() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_cmd", "7@1", "sh -c make")])
    buffer.add("proc", 102.0, [("proc_cmd", "7@1", "make")])
    assert buffer.fold() == {("proc_cmd", "7@1"): "make"}


def test_a_mean_is_over_the_readings_of_the_window() -> None:
    buffer = make_buffer()
    buffer.add("host", 101.0, [("host_load", "", 1.0), ("host_load", "", 2.0)])
    assert buffer.fold()["host_load", ""] == 1.5
    buffer.add("host", 102.0, [("host_load", "", 6.0)])
    assert buffer.fold()["host_load", ""] == 3.0
    buffer.commit(buffer.fold())
    buffer.add("host", 103.0, [("host_load", "", 4.0)])
    assert buffer.fold()["host_load", ""] == 4.0


def test_each_source_has_its_own_time() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [])
    buffer.add("host", 101.5, [])
    assert buffer.clock() == {"proc": (100.0, 101.0), "host": (100.0, 101.5)}
    buffer.commit(buffer.fold())
    assert buffer.clock() == {}
    buffer.add("proc", 102.0, [])
    assert buffer.clock() == {"proc": (101.0, 102.0)}


def test_a_buffer_that_cannot_be_written_stays_small_and_keeps_every_maximum() -> None:
    buffer = make_buffer()
    buffer.add("host", 100.5, [("host_net", "", 1_000_000)])
    buffer.add("proc", 101.0, [("proc_rss", "7@1", 987_654_321)])
    for second in range(2000):
        buffer.add(
            "proc",
            102.0 + second,
            [
                *[("proc_rss", f"{pid}@1", 1000 + second) for pid in range(7, 37)],
                *[("proc_cputime", f"{pid}@1", second / 10) for pid in range(7, 37)],
                ("proc_state", "7@1", "S"),
            ],
        )
    buffer.add("host", 3000.0, [("host_net", "", 1_000_250)])
    assert len(buffer._readings) < 60_000
    folded = buffer.fold()
    assert folded["proc_rss", "7@1"] == 987_654_321
    assert folded["proc_last_rss", "7@1"] == 2999
    assert folded["proc_cputime", "36@1"] == 199.9
    assert folded["proc_state", "7@1"] == {"S": 2000}
    assert folded["host_net", ""] == 250


def test_processes_that_are_gone_are_forgotten() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_cputime", f"{pid}@1", 1.0) for pid in range(5000)])
    buffer.fold()
    buffer.commit(buffer.fold())
    buffer.forget({"7@1"})
    assert list(buffer._seeds) == [("proc_cputime", "7@1")]
    buffer.add("proc", 102.0, [("proc_cputime", "7@1", 1.5)])
    assert buffer.fold() == {("proc_cputime", "7@1"): 0.5}


def test_few_processes_are_remembered_at_no_cost() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_cputime", "7@1", 1.0)])
    buffer.fold()
    buffer.commit(buffer.fold())
    buffer.forget(set())
    assert buffer._seeds == {("proc_cputime", "7@1"): 1.0}


def test_a_gone_process_whose_window_waits_for_the_disk_is_not_counted_twice() -> None:
    buffer = make_buffer()
    buffer.add("proc", 101.0, [("proc_cputime", f"{pid}@1", 10.0) for pid in range(5000)])
    buffer.fold()
    buffer.commit(buffer.fold())
    buffer.add("proc", 102.0, [("proc_cputime", "7@1", 12.0)])
    buffer.fold()
    buffer.forget(set())
    buffer.add("proc", 103.0, [("proc_cputime", "7@1", 12.5)])
    assert buffer.fold() == {("proc_cputime", "7@1"): 2.5}


def test_fifty_processes_are_all_listed() -> None:
    folded: windows.Folded = {("proc_rss", f"{pid}@1"): pid for pid in range(50)}
    assert windows.top_instances(folded) == folded


def test_beyond_fifty_the_smallest_become_the_rest() -> None:
    folded: windows.Folded = {}
    for pid in range(60):
        folded["proc_cputime", f"{pid}@1"] = float(pid)
        folded["proc_rss", f"{pid}@1"] = 1000
        folded["proc_pdcpu", f"{pid}@1"] = 50.0
        folded["proc_cmd", f"{pid}@1"] = "cc1plus"
        folded["proc_state", f"{pid}@1"] = {"R": 1}
    kept = windows.top_instances(folded)
    assert {instance for _, instance in kept} == {*(f"{pid}@1" for pid in range(10, 60)), "rest"}
    assert kept["proc_cputime", "rest"] == 45.0  # 0 + 1 + ... + 9
    assert kept["proc_rss", "rest"] == 10_000
    assert kept["proc_cputime", "59@1"] == 59.0
    assert [key for key, instance in kept if instance == "rest"] == ["proc_cputime", "proc_rss"]


def test_of_idle_processes_the_largest_are_kept() -> None:
    folded: windows.Folded = {("proc_rss", f"{pid}@1"): pid for pid in range(5)}
    folded["proc_cputime", "0@1"] = 0.001
    kept = windows.top_instances(folded, 2)
    assert kept == {
        ("proc_rss", "rest"): 6,
        ("proc_rss", "4@1"): 4,
        ("proc_rss", "0@1"): 0,
        ("proc_cputime", "0@1"): 0.001,
    }
