"""The ranks of a job beside one another: who belongs together, and who stopped first."""

from dataclasses import replace

import pytest

from jobmeter.analysis import beside
from jobmeter.model.rank import RankFacts
from jobmeter.model.report import LogError
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import Steps
from jobmeter.model.view import RunView
from support import curves
from support.ranks import Life, facts, job, waiting

FAILED = Life(steps=40, status=Status.FAILED, exit_code=1)
WAITED = Life(steps=40, status=Status.FAILED, exit_code=1, lived_on=600.0)


def run(run_id: str, started_at: float | None, ended_at: float | None) -> Run:
    return Run(
        run_id=run_id,
        job_id="j",
        status=Status.COMPLETED,
        command=(),
        started_at=started_at,
        ended_at=ended_at,
    )


def test_recorders_that_follow_one_another_in_a_chain_are_of_one_time() -> None:
    """One rank dies before the last one starts: both ran beside the others."""
    early, middle, late = run("a", 0.0, 3.0), run("b", 1.0, 9.0), run("c", 4.0, 9.0)
    again, nobody_knows = run("d", 20.0, None), run("e", None, None)
    assert beside.beside(early, (nobody_knows, again, late, middle)) == (late, middle)
    assert beside.beside(late, (again, middle, early)) == (middle, early)
    assert beside.beside(again, (early, middle, late, nobody_knows)) == ()


def test_a_recorder_that_still_goes_on_is_beside_all_later_ones() -> None:
    assert beside.beside(run("a", 0.0, None), (run("b", 50.0, 60.0),))[0].run_id == "b"


def stopped(view: RunView) -> int | None:
    found = beside.first_to_stop(view)
    return None if found is None else found.stopped.rank


def test_the_only_rank_that_failed_stopped_first() -> None:
    found = beside.first_to_stop(job(Life(), FAILED, Life()))
    assert found is not None
    assert (found.stopped.rank, found.front, found.behind, found.is_silent) == (1, 100, 60, False)
    assert [one.rank for one in found.others] == [0, 2]


def test_a_job_that_went_well_and_a_single_rank_have_none() -> None:
    assert stopped(job(Life(), Life(steps=40))) is None
    assert stopped(job(FAILED)) is None


def test_who_died_while_the_others_waited_stopped_first_whatever_the_clocks_say() -> None:
    """All took the same last step: only how long each lived after it tells them apart."""
    hosts = [replace(WAITED, host=f"h{rank}", clock=3600.0 * rank) for rank in range(3)]
    assert stopped(job(*hosts, replace(FAILED, host="h3", clock=-7200.0))) == 3


def test_ranks_that_ended_together_on_different_hosts_are_not_told_apart() -> None:
    assert stopped(job(replace(FAILED, host="a"), replace(FAILED, host="b", lived_on=0.5))) is None


def test_steps_of_a_second_need_three_of_them_between_two_ends() -> None:
    slow = replace(FAILED, seconds=1.0)
    assert stopped(job(replace(slow, lived_on=2.5), slow)) is None
    assert stopped(job(replace(slow, lived_on=3.5), slow)) == 1


def test_on_one_host_the_first_end_counts() -> None:
    killed = Life(steps=39, host="a", status=Status.KILLED, signal="SIGKILL", lived_on=0.3)
    assert stopped(job(killed, replace(FAILED, host="a"), killed)) == 1
    assert stopped(job(replace(FAILED, host="a", lived_on=0.01), replace(FAILED, host="a"))) is None


def test_a_rank_that_was_stopped_from_outside_is_not_the_one() -> None:
    terminated = Life(steps=40, host="a", status=Status.KILLED, signal="SIGTERM")
    interrupted = Life(steps=40, host="a", status=Status.FAILED, exit_code=130, lived_on=9.0)
    assert stopped(job(terminated, interrupted)) is None
    assert stopped(job(terminated, replace(FAILED, host="a", lived_on=-1.0))) == 1


def test_ranks_without_a_step_in_common_are_told_apart_by_how_far_they_came() -> None:
    view = job(replace(WAITED, steps=5000), FAILED)
    far, near = view.ranks
    late = replace(
        far.tables[0], steps=far.tables[0].steps[-50:], timestamps=(far.tables[0].timestamps or ())[-50:]
    )
    assert stopped(replace(view, ranks=(replace(far, tables=(late,)), near))) == 1
    silent = replace(far, tables=(), last_step=None, last_at=None)
    assert stopped(replace(view, ranks=(silent, near))) is None
    assert stopped(replace(view, ranks=(far, replace(near, tables=(), last_step=None)))) is None


def test_a_rank_that_lives_outlived_the_others() -> None:
    lost = Life(steps=90, status=Status.LOST)
    assert stopped(job(replace(lost, steps=100), FAILED)) == 1
    first, second = job(lost, FAILED).ranks
    live = replace(first, ended_at=None)
    assert stopped(replace(job(lost, FAILED), ranks=(live, second))) == 1
    assert stopped(replace(job(lost, FAILED), ranks=(live, replace(second, ended_at=None)))) is None


def test_a_rank_that_complains_of_waiting_is_not_the_one() -> None:
    """The one that waited gives up first, the one that hung is killed later."""
    hung = Life(steps=40, status=Status.KILLED, signal="SIGKILL", lived_on=700.0)
    assert stopped(job(WAITED, hung, errors=(waiting(0),))) == 1


def test_the_one_rank_that_does_not_complain_is_waited_for() -> None:
    view = job(WAITED, Life(steps=40), WAITED, errors=(waiting(0), waiting(2)))
    found = beside.first_to_stop(view)
    assert found is not None
    assert (found.stopped.rank, found.is_silent) == (1, True)
    assert stopped(job(WAITED, Life(steps=40), Life(steps=40), errors=(waiting(0),))) is None
    other = LogError(level="ERROR", type="ValueError", message="m", signature="exception", ranks=(0, 2))
    assert stopped(replace(view, log_errors=(other,))) is None


def test_of_several_that_do_not_complain_the_one_that_failed_counts() -> None:
    assert stopped(job(WAITED, Life(steps=40), FAILED, errors=(waiting(0),))) == 2


def in_one_recorder(*known: RankFacts, status: Status = Status.FAILED) -> RunView:
    whole = replace(known[0].run, run_id="node", ranks=tuple(one.rank for one in known), status=status)
    return replace(curves.run(), run=whole, ranks=tuple(replace(one, run=whole) for one in known))


def test_of_ranks_in_one_recorder_the_one_whose_steps_ended_stopped_first() -> None:
    lives = (Life(), Life(steps=40), Life(steps=99))
    assert stopped(in_one_recorder(*(facts(rank, life) for rank, life in enumerate(lives)))) == 1
    slow = (facts(0, Life()), facts(1, Life(steps=50, seconds=0.2)))
    assert stopped(in_one_recorder(*slow)) is None
    assert stopped(in_one_recorder(facts(0, Life()), facts(1, Life(steps=0)))) is None


def test_steps_of_a_log_are_ranks_too() -> None:
    tables = [*facts(0, Life()).tables, *facts(1, Life(steps=40)).tables]
    view = curves.run(steps=Steps(tuple(tables)), status=Status.FAILED)
    first, second = beside.ranks(view)
    assert (first.last_step, second.last_step, second.count) == (100, 40, 40)
    assert second.mean_step_seconds == pytest.approx(0.1)
    assert stopped(view) == 1
    assert beside.ranks(curves.run(steps=Steps((tables[0],)))) == ()
    assert (
        beside.ranks(curves.run(steps=Steps((tables[0], replace(tables[1], steps=(), timestamps=()))))) == ()
    )


def test_steps_without_a_clock_have_no_pace() -> None:
    first, second = facts(0, Life()).tables[0], facts(1, Life(source="wandb:seen")).tables[0]
    view = curves.run(steps=Steps((replace(first, timestamps=None), second)))
    assert [(one.last_at, one.mean_step_seconds) for one in beside.ranks(view)] == [(None, None)] * 2
    gone_back = replace(first, steps=tuple(reversed(first.steps)))
    one_time = replace(second, source="log:x", timestamps=[float("nan"), *(second.timestamps or ())[1:]])
    view = curves.run(steps=Steps((gone_back, one_time)))
    assert [one.advanced for one in beside.ranks(view)] == [0, 0]


def test_the_best_source_speaks_for_a_rank() -> None:
    told = [
        facts(rank, Life(source=source)).tables[0] for rank in (0, 1) for source in ("log:hf", "sdk", "csv")
    ]
    assert [one.source for one in beside.ranks(curves.run(steps=Steps(tuple(told))))] == ["sdk", "sdk"]


def test_ranks_with_recorders_of_their_own_are_known_by_them() -> None:
    assert {rank: one.run_id for rank, one in beside.recorders(job(Life(), Life())).items()} == {
        0: "run-0",
        1: "run-1",
    }
    assert beside.recorders(job(Life())) == {}
    assert beside.recorders(in_one_recorder(facts(0, Life()), facts(1, Life()))) == {}
