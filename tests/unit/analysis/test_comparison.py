"""What is said of runs side by side: winners, differences, phases, loss at equal step."""

from math import inf, nan

from jobmeter.analysis import comparison
from jobmeter.analysis.comparison import Better, Comparison, Difference, Figure, Phase, Phases
from support import views


def figure(
    better: Better, *values: float | None, may_win: tuple[bool, ...] = (True, True, True)
) -> Figure | None:
    return comparison.figure("wall", "seconds", better, values, may_win)


def winner(
    better: Better, *values: float | None, may_win: tuple[bool, ...] = (True, True, True)
) -> int | None:
    found = figure(better, *values, may_win=may_win)
    assert found is not None
    return found.winner


def test_a_number_that_only_one_run_has_is_not_compared() -> None:
    assert figure(Better.LESS, 3.0, None) is None


def test_the_winner_is_the_least_or_the_most_of_those_that_have_it() -> None:
    assert winner(Better.LESS, None, 3.0, 2.0) == 2
    assert winner(Better.MORE, 5.0, 3.0, None) == 0
    assert winner(Better.NEITHER, 5.0, 3.0) is None


def test_what_is_no_number_neither_wins_nor_counts() -> None:
    assert winner(Better.LESS, nan, 3.0, 2.0) == 2
    assert winner(Better.MORE, 1.0, inf, 2.0) == 2
    assert figure(Better.LESS, nan, 3.0) is None
    found = figure(Better.LESS, nan, 3.0, 2.0)
    assert found is not None
    assert found.values == (None, 3.0, 2.0)


def test_equal_numbers_have_no_winner() -> None:
    assert winner(Better.LESS, 2.0, 2.0, 3.0) is None


def test_a_run_that_broke_off_does_not_win_by_using_less() -> None:
    assert winner(Better.LESS, 1.0, 3.0, may_win=(False, True)) == 1
    assert winner(Better.LESS, 1.0, 3.0, may_win=(False, False)) is None


def test_changes_are_in_percent_of_the_first_run() -> None:
    found = figure(Better.LESS, 4.0, None, 5.0)
    assert found is not None
    assert found.changes == (0.0, None, 25.0)
    zero = figure(Better.LESS, 0.0, 5.0)
    assert zero is not None
    assert zero.changes == (None, None)


def test_settings_differ_by_path() -> None:
    one = {"optimizer": {"lr": 1e-3, "name": "adam"}, "seeds": [1, 2]}
    other = {"optimizer": {"lr": 1e-4, "name": "adam"}, "seeds": [1, 2], "ema": True}
    assert comparison.differences([one, other]) == (
        Difference(path="ema", values=(None, True)),
        Difference(path="optimizer.lr", values=(1e-3, 1e-4)),
    )


def test_a_command_line_is_taken_apart_by_its_options() -> None:
    command = ["python", "train.py", "--lr", "0.1", "--seed=3", "-x", "--fast", "out", "last", "-5"]
    assert comparison.words(command) == {
        "program": "python",
        "argument 1": "train.py",
        "--lr": "0.1",
        "--seed": "3",
        "-x": True,
        "--fast": "out",
        "argument 2": "last",
        "argument 3": "-5",
    }


def test_losses_are_compared_at_steps_that_all_logged() -> None:
    one = [(step, 10.0 - step) for step in range(0, 101, 10)]
    other = [(step, 20.0 - step) for step in range(0, 101, 5)] + [(7, nan)]
    found = comparison.losses([one, other])
    assert [step for step, _ in found] == [0, 20, 40, 60, 80, 100]
    assert found[-1] == (100, (-90.0, -80.0))


def test_runs_without_a_common_step_have_no_losses_to_compare() -> None:
    assert comparison.losses([[(1, 1.0)], [(2, 1.0)]]) == ()
    assert comparison.losses([[(1, 1.0)], [(1, 2.0)]]) == ((1, (1.0, 2.0)),)


def stepped(seconds: int) -> comparison.RunView:
    """A run that uses one core, then two."""
    points = [(float(at + 1), 1.0 if at < seconds else 2.0) for at in range(100)]
    return views.view([views.counter("cgroup_cputime", points)], (views.CPU,))


def test_phases_are_laid_side_by_side() -> None:
    (found,) = comparison.phases([stepped(40), stepped(60)])
    assert found.resource == "CPU"
    assert [[round(part.level, 2) for part in run] for run in found.runs] == [[1.0, 2.0], [1.0, 2.0]]
    assert [round(run[0].seconds) for run in found.runs] == [40, 60]
    assert found.runs[0][1].shown == "2.00 cores"


def test_a_run_without_series_has_no_phases_to_compare() -> None:
    assert comparison.phases([stepped(40), views.view([])]) == ()


def test_the_record_names_runs_and_rounds_changes() -> None:
    phase = Phase(seconds=1.23456, level=2.0, shown="2.00 cores")
    found = Comparison(
        run_ids=("a", "b"),
        figures=(
            Figure(key="wall", unit="seconds", values=(3.0, 4.0), winner=0),
            Figure(key="cores", unit="", values=(0.0, 1.0)),
        ),
        config=(Difference(path="lr", values=(1, 2)),),
        phases=(Phases(resource="CPU", runs=((phase,), (phase,))),),
        losses=((5, (1.0, 2.0)),),
    )
    assert found.as_record() == {
        "runs": ["a", "b"],
        "metrics": [
            {
                "key": "wall",
                "unit": "seconds",
                "values": [3.0, 4.0],
                "change_percent": [0.0, 33.333],
                "winner": "a",
            },
            {
                "key": "cores",
                "unit": "",
                "values": [0.0, 1.0],
                "change_percent": [None, None],
                "winner": None,
            },
        ],
        "config": [{"path": "lr", "values": [1, 2]}],
        "environment": [],
        "phases": [
            {
                "resource": "CPU",
                "runs": [[{"seconds": 1.235, "level": 2.0, "shown": "2.00 cores"}]] * 2,
            }
        ],
        "loss_at_step": [{"step": 5, "values": [1.0, 2.0]}],
    }
