"""Processes become layers by command: who used the CPU, who held the memory."""

import pytest
from tests.support import views
from tests.support.views import STARTED, counter, gauge, process

from jobmeter.model.panel import Line
from jobmeter.model.run import CommandShare
from jobmeter.model.view import Series
from jobmeter.service import plot_who
from jobmeter.service.plot_series import Axis

AXIS = Axis(start=STARTED, seconds=30.0, buckets=1000)


def by_name(lines: tuple[Line, ...]) -> dict[str, tuple[float | None, ...]]:
    return {line.label: line.values for line in lines}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/lib/gcc/x86_64/12/cc1plus -quiet a.cc", "cc1plus"),
        ("python3 /srv/job/train.py --lr 1", "python3 train.py"),
        ("python3.11 -u train.py", "python3.11 train.py"),
        ("python -m pytest tests", "python -m pytest"),
        ("bash -c 'sleep 5'", "bash"),
        ("bash", "bash"),
        ("   ", "?"),
        ("/", "/"),
    ],
)
def test_a_command_line_is_shortened_to_what_people_call_it(command: str, name: str) -> None:
    assert plot_who.command_name(command) == name


def test_processes_of_one_command_are_one_layer() -> None:
    series = [
        counter("proc_cputime", [(10, 5.0), (20, 10.0)], "7@1", span=10.0),
        counter("proc_cputime", [(20, 5.0)], "8@2", span=10.0),
        counter("proc_cputime", [(10, 1.0)], "9@3", span=10.0),
    ]
    processes = [process("7@1", "cc1plus a.cc"), process("8@2", "cc1plus b.cc"), process("9@3", "make -j4")]
    lines = plot_who.cpu_layers(views.view(series, processes=processes), "proc_cputime", AXIS)
    assert lines[0].times == (0.0, 10.0, 20.0)
    assert by_name(lines) == {"cc1plus": (None, 0.5, 1.5), "make": (None, 0.1, 0.0)}


def test_a_process_that_did_not_move_used_nothing_and_leaves_no_hole() -> None:
    series = [
        counter("proc_cputime", [(10, 5.0), (30, 5.0)], "7@1", span=10.0),
        counter("proc_cputime", [(20, 5.0)], "8@2", span=10.0),
    ]
    lines = plot_who.cpu_layers(
        views.view(series, processes=[process("7@1", "a"), process("8@2", "b")]), "proc_cputime", AXIS
    )
    assert by_name(lines) == {"a": (None, 0.5, 0.0, 0.5), "b": (None, 0.0, 0.5, 0.0)}


def test_a_report_whose_clock_ran_a_little_over_is_not_counted_twice() -> None:
    series = [
        counter("proc_cputime", [(10, 5.0)], "7@1", span=10.0),
        Series(key="proc_cputime", instance="8@2", times=(STARTED + 20,), values=(11.0,), spans=(11.0,)),
    ]
    view = views.view(series, processes=[process("7@1", "a"), process("8@2", "b")])
    assert by_name(plot_who.cpu_layers(view, "proc_cputime", AXIS)) == {
        "a": (None, 0.5, 0.0),
        "b": (None, 0.0, 1.0),
    }


def test_no_processes_are_no_layers() -> None:
    assert plot_who.cpu_layers(views.view([]), "proc_cputime", AXIS) == ()


def test_memory_holds_until_it_moves_or_the_process_ends() -> None:
    series = [
        gauge("proc_rss", [(10, 100.0)], "7@1"),
        gauge("proc_rss", [(10, 10.0), (30, 30.0)], "8@2"),
    ]
    processes = [process("7@1", "gone", last=20.0), process("8@2", "stays", last=40.0)]
    lines = plot_who.memory_layers(views.view(series, processes=processes), "proc_rss", AXIS)
    assert lines[0].times == (0.0, 10.0, 20.0, 30.0, 40.0)
    assert by_name(lines) == {
        "gone": (None, 100.0, 100.0, 0.0, 0.0),
        "stays": (None, 10.0, 10.0, 30.0, 30.0),
    }


def test_what_the_recorder_did_not_list_is_other() -> None:
    series = [gauge("proc_rss", [(10, 100.0), (20, 100.0)], "7@1"), gauge("proc_rss", [(10, 5.0)], "rest")]
    processes = [process("7@1", "a", last=20.0)]
    lines = plot_who.memory_layers(views.view(series, processes=processes), "proc_rss", AXIS)
    assert by_name(lines) == {"a": (None, 100.0, 100.0), "other": (None, 5.0, 5.0)}


def test_commands_beyond_the_largest_six_are_other() -> None:
    series = [gauge("proc_rss", [(10, float(n)), (20, float(n))], f"{n}@1") for n in range(1, 10)]
    processes = [process(f"{n}@1", f"tool{n}", last=20.0) for n in range(1, 10)]
    lines = plot_who.memory_layers(views.view(series, processes=processes), "proc_rss", AXIS)
    assert [line.label for line in lines] == ["tool9", "tool8", "tool7", "tool6", "tool5", "tool4", "other"]
    assert by_name(lines)["other"] == (None, 6.0, 6.0)


def test_a_command_that_is_next_to_nothing_is_other() -> None:
    series = [
        gauge("proc_rss", [(10, 1000.0), (20, 1000.0)], "7@1"),
        gauge("proc_rss", [(10, 5.0), (20, 5.0)], "8@1"),
    ]
    processes = [process("7@1", "big", last=20.0), process("8@1", "small", last=20.0)]
    lines = plot_who.memory_layers(views.view(series, processes=processes), "proc_rss", AXIS)
    assert by_name(lines) == {"big": (None, 1000.0, 1000.0), "other": (None, 5.0, 5.0)}


def test_a_process_whose_command_is_unknown_is_named_by_its_pid() -> None:
    nameless = process("7@1", "")
    lines = plot_who.memory_layers(
        views.view([gauge("proc_rss", [(1, 1.0), (2, 1.0)], "7@1")], processes=[nameless]), "proc_rss", AXIS
    )
    assert [line.label for line in lines] == ["pid 7"]


def test_a_rate_is_averaged_over_coarser_stretches() -> None:
    fine = ([0.0, 1.0, 2.0, 3.0, 4.0], [None, 1.0, 3.0, None, 5.0])
    assert plot_who.mean_over([0.0, 2.0, 4.0], fine) == ([0.0, 2.0, 4.0], [None, 2.0, 5.0])


def test_shares_beyond_the_largest_six_are_other() -> None:
    shares = tuple(CommandShare(command=f"tool{n}", cpu_seconds=10.0) for n in range(8))
    said = plot_who.shares(views.view([], by_command=shares).run, 80.0)
    assert said.endswith("tool5 12 % · other 25 %")


def test_shares_add_commands_of_one_name_and_say_what_is_left() -> None:
    shares = tuple(
        CommandShare(command=name, cpu_seconds=seconds)
        for name, seconds in [("cc1plus", 40.0), ("/usr/bin/cc1plus", 20.0), ("make", 0.3), ("idle", None)]
    )
    run = views.view([], by_command=shares).run
    assert plot_who.shares(run, 100.0) == "cc1plus 60 % · make <1 % · not seen by sampling 40 %"
    assert plot_who.shares(run, None) == "cc1plus 100 % · make <1 %"
    assert plot_who.shares(views.view([]).run, 100.0) == ""
