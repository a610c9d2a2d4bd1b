"""The rank that stopped first, told by its last step and its end."""

from dataclasses import replace

from jobmeter.analysis.detectors import rank_stopped
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Status
from jobmeter.model.view import RunView
from support import curves
from support.ranks import STARTED, Life, job, waiting

FAILED = Life(steps=40, status=Status.FAILED, exit_code=1, lived_on=0.2)


def found_in(view: RunView) -> Finding:
    (found,) = rank_stopped.detect(view)
    return found


def test_a_rank_that_failed_while_the_others_went_on_is_named() -> None:
    found = found_in(job(Life(), FAILED, Life()))
    assert (found.severity, found.rank, found.begin) == (Severity.CRITICAL, 1, STARTED + 4)
    assert found.sentence == (
        "rank 1 stopped first: it told step 40 last and ended 200 ms later with exit status 1; "
        "the foremost went on to step 100"
    )
    assert found.figures == {
        "rank": 1,
        "rank_count": 3,
        "run_id": "run-1",
        "last_step": 40,
        "behind_steps": 60,
        "lived_on_seconds": 0.2,
        "others_lived_on_seconds": 0.0,
        "exit_code": 1,
    }
    assert [(one.source, one.rank, one.value) for one in found.evidence] == [
        ("steps", 1, 40),
        ("steps", 0, 100),
        ("exit status", None, 1),
    ]


def test_a_rank_that_was_killed_while_the_others_waited_is_named() -> None:
    waited = Life(steps=40, status=Status.FAILED, exit_code=1, lived_on=600.0)
    killed = Life(steps=40, status=Status.KILLED, signal="SIGKILL", lived_on=0.2)
    assert found_in(job(waited, replace(waited, lived_on=601.0), killed)).sentence == (
        "rank 2 stopped first: it told step 40 last and was ended by SIGKILL 200 ms later; "
        "the others took no further step and waited for 10 min 00 s"
    )


def test_a_rank_that_hangs_is_named_by_the_complaints_of_the_others() -> None:
    waited = Life(steps=40, status=Status.FAILED, exit_code=1, lived_on=600.0)
    view = job(waited, Life(steps=40), errors=(waiting(0),))
    told = (
        "rank 1 stopped first: it told step 40 last and then nothing, while all others complained of waiting"
    )
    assert found_in(view).sentence.startswith(told)


def test_a_rank_that_told_no_step_is_named_by_its_end() -> None:
    gone = Life(steps=0, status=Status.FAILED, exit_code=3)
    assert found_in(job(Life(), gone)).sentence == (
        "rank 1 stopped first: ended with exit status 3, before the other 1"
    )
    nobody_knows = replace(gone, exit_code=None, status=Status.LOST)
    assert found_in(job(Life(), nobody_knows)).sentence == "rank 1 stopped first: ended, before the other 1"


def test_a_rank_of_one_recorder_has_no_exit_status_of_its_own() -> None:
    view = job(Life(), Life(steps=40))
    whole = replace(view.run, run_id="node", ranks=(0, 1), status=Status.FAILED, exit_code=1)
    found = found_in(replace(view, ranks=tuple(replace(one, run=whole) for one in view.ranks)))
    assert found.sentence == (
        "rank 1 stopped first: it told step 40 last and then no more; the foremost went on to step 100"
    )
    assert "exit_code" not in found.figures


def test_nobody_knows_how_long_a_rank_waited_whose_end_is_not_known() -> None:
    view = job(Life(steps=40), FAILED)
    first, second = view.ranks
    found = found_in(replace(view, ranks=(replace(first, ended_at=None), second)))
    assert found.sentence.endswith("; the others took no further step and waited")
    assert "others_lived_on_seconds" not in found.figures


def test_a_job_that_went_well_is_silent() -> None:
    assert list(rank_stopped.detect(job(Life(), Life(steps=40)))) == []
    assert list(rank_stopped.detect(curves.run())) == []
