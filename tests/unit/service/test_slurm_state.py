"""What Slurm's accounts say of a run's end; a program in place of `sacct` answers as that one does."""

from pathlib import Path

import pytest

from jobmeter.model.run import Run, Status
from jobmeter.service import slurm_state

STARTED, ENDED = 1_763_260_000.0, 1_763_260_360.0


def run(status: Status = Status.KILLED, ended_at: float | None = ENDED, **environment: str) -> Run:
    known = {"SLURM_JOB_ID": "77"} | environment
    return Run(
        run_id="r",
        job_id="r",
        status=status,
        command=("python", "train.py"),
        started_at=STARTED,
        ended_at=ended_at,
        context={"environment": known},
    )


@pytest.fixture
def sacct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a sacct on the path that says what stands in `said` and writes down what it was asked."""
    program = tmp_path / "sacct"
    program.write_text(f'#!/bin/sh\necho "$* $SLURM_TIME_FORMAT" > {tmp_path}/asked\ncat {tmp_path}/said\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "said").write_text("TIMEOUT|1763259990|1763260361\n")
    return tmp_path


def test_the_state_of_the_job_is_an_event_at_its_end(sacct: Path) -> None:
    (event,) = slurm_state.events(run())
    assert (event.type, event.timestamp) == ("scheduler_state", 1_763_260_361.0)
    assert event.details == {"state": "TIMEOUT", "job": "77"}
    asked = (sacct / "asked").read_text()
    assert asked == "--jobs 77 --allocations --noheader --parsable2 --format State,Start,End %s\n"


def test_a_step_is_asked_for_by_its_number(sacct: Path) -> None:
    slurm_state.events(run(SLURM_STEP_ID="3"))
    assert (sacct / "asked").read_text().startswith("--jobs 77.3 --noheader")
    slurm_state.events(run(SLURM_STEP_ID="4294967291"))  # the batch script itself
    assert (sacct / "asked").read_text().startswith("--jobs 77 --allocations")


def test_a_run_whose_recorder_was_killed_too_is_told_by_the_scheduler_alone(sacct: Path) -> None:
    (sacct / "said").write_text("OUT_OF_MEMORY|1763259990|1763261000\n")
    (event,) = slurm_state.events(run(Status.LOST, ended_at=None))
    assert event.details["state"] == "OUT_OF_MEMORY"


@pytest.mark.parametrize(
    "said",
    [
        "TIMEOUT|1763259990|1763269000\n",
        "TIMEOUT|1763260900|1763260961\n",
        "RUNNING|1763259990|Unknown\n",
        "COMPLETING|1763259990|1763260361\n",
        "TIMEOUT|2025-11-16T02:39:50|2025-11-16T02:46:01\n",
        "",
    ],
    ids=["went on", "another job", "runs", "about to end", "another clock", "nothing"],
)
def test_what_is_not_of_this_end_is_not_taken(sacct: Path, said: str) -> None:
    (sacct / "said").write_text(said)
    assert slurm_state.events(run()) == ()


def test_nobody_is_asked_about_other_runs(sacct: Path) -> None:
    assert slurm_state.events(run(Status.COMPLETED)) == ()
    assert slurm_state.events(run(Status.RUNNING, ended_at=None)) == ()
    assert slurm_state.events(run(SLURM_JOB_ID="77;rm")) == ()
    bare = Run(run_id="r", job_id="r", status=Status.KILLED, command=("true",))
    assert slurm_state.events(bare) == ()
    assert not (sacct / "asked").exists()


def test_without_sacct_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert slurm_state.events(run()) == ()


def test_a_sacct_that_fails_says_nothing(sacct: Path) -> None:
    (sacct / "sacct").write_text("#!/bin/sh\necho 'TIMEOUT|1763259990|1763260361'\nexit 1\n")
    assert slurm_state.events(run()) == ()
