"""How jobmeter itself ends: the summary where somebody reads it, the job's exit code in any case."""

import os
import subprocess
import sys

import pytest

from jobmeter.recording.outcome import Outcome, Records

END: dict[str, object] = {
    "status": "failed",
    "exit_code": 3,
    "signal": None,
    "wall_seconds": 1.5,
    "summary": {},
}


def make_outcome(**end: object) -> Outcome:
    records = Records(start={"run_id": "r1", "job_id": "r1"}, context={}, end=END | end, headlines={})
    return Outcome(3, None, records)


def test_the_summary_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    make_outcome().show("text")
    assert capfd.readouterr().err == (
        "jobmeter: failed (exit 3) after 1.5 s\n  why      jobmeter analyze r1\n  run      r1\n"
    )


def test_for_machines_it_is_json(capfd: pytest.CaptureFixture[str]) -> None:
    make_outcome().show("json")
    assert capfd.readouterr().err.startswith('{"run_id": "r1", "job_id": "r1", ')


def test_nothing_is_shown_where_nothing_shall_be(capfd: pytest.CaptureFixture[str]) -> None:
    make_outcome().show("none")
    Outcome(3, None, None).show("text")
    Outcome(127, None, make_outcome().records, started=False).show("text")
    assert capfd.readouterr() == ("", "")


def test_a_summary_that_cannot_be_made_is_said_and_no_reason_to_fail(
    capfd: pytest.CaptureFixture[str],
) -> None:
    outcome = make_outcome(wall_seconds=object())
    outcome.records.start.clear()  # type: ignore[union-attr]  # it is there
    outcome.show("text")
    assert capfd.readouterr().err == "jobmeter: no summary: KeyError: 'run_id'\n"
    assert outcome.finish() == 3


def test_a_stderr_nobody_reads_is_no_reason_to_fail() -> None:
    saved = os.dup(2)
    reader, writer = os.pipe()
    os.dup2(writer, 2)
    os.close(reader)
    os.close(writer)
    make_outcome().show("text")
    os.dup2(saved, 2)
    os.close(saved)


def test_an_interrupt_from_the_terminal_is_passed_on_to_our_group() -> None:
    script = (
        "from jobmeter.recording.outcome import Outcome\n"
        "outcome = Outcome(130, None, None)\noutcome.interrupted_from_terminal = True\noutcome.finish()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
    assert process.wait() == -2
