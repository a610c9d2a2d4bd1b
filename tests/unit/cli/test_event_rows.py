"""Events on the page of a run: what matters is never crowded out."""

from jobmeter.cli.render import event_rows
from jobmeter.cli.render.screen import Style
from jobmeter.model.run import Run, Status
from jobmeter.model.view import Event

BEGAN = 1794736201.0
RUN = Run(run_id="r", job_id="r", status=Status.COMPLETED, command=(), cwd="/srv/job")


def event(seconds: float, kind: str, **details: object) -> Event:
    return Event(timestamp=BEGAN + seconds, type=kind, details=details)


def bodies(*events: Event, run: Run = RUN) -> list[str]:
    return [
        row.body.partition(" ")[2] if row.body[2:3] == ":" else row.body
        for row in event_rows.event_rows(events, run)
    ]


def test_sizes_have_units_and_paths_are_told_from_the_job_s_folder() -> None:
    saved = event(1, "checkpoint", path="/srv/job/out/ckpt-6", bytes=93898, step=6, clock="modification time")
    assert bodies(saved) == ["checkpoint: path=out/ckpt-6, bytes=91.7 KiB, step=6"]


def test_a_checkpoint_told_by_the_loop_and_found_on_disk_is_one_row() -> None:
    found = event(1, "checkpoint", path="/srv/job/ckpt-6", bytes=1024, step=6, clock="modification time")
    assert len(bodies(found, event(2, "checkpoint", path="ckpt-6", step=6))) == 1


def test_of_what_repeats_the_first_and_the_last_are_shown() -> None:
    rows = bodies(*(event(n, "checkpoint", step=n) for n in range(30)))
    assert rows[0] == "checkpoint: step=0"
    assert rows[1].startswith("after 28 more: ")
    assert rows[1].endswith("checkpoint: step=29")
    assert len(rows) == 2


def test_an_oom_late_in_a_run_is_not_crowded_out() -> None:
    noise = [event(n, f"kind{n}") for n in range(30)]
    rows = bodies(*noise, event(40, "oom_kill"))
    assert rows[9] == "oom_kill"
    assert rows[10] == "and 21 more, see --json"


def test_what_a_person_must_not_miss_has_a_colour() -> None:
    (row,) = event_rows.event_rows((event(1, "oom"),), RUN)
    assert row.style is Style.BAD


def test_words_of_a_job_cannot_act_on_the_terminal() -> None:
    assert bodies(event(1, "alert", title="\x1b[2J")) == ["alert: \\x1b[2J"]


def test_of_processes_that_stood_still_is_said_what_they_waited_in() -> None:
    processes = [
        {"command": "python", "syscall": "futex", "stack": "..."},
        {"command": "tee", "state": "T"},
        7,
    ]
    stall = event(1, "stall", worked=True, processes=processes)
    assert bodies(stall) == ["stall: worked=True, processes=python in futex, tee in T, 7"]


def test_an_alert_is_told_in_its_own_words() -> None:
    told = event(1, "alert", id="07567dfb", rule="high", title="firing: high", text="memory is 9 GiB")
    assert bodies(told, event(2, "alert", level="WARN")) == [
        "alert: firing: high: memory is 9 GiB",
        "alert: level=WARN",
    ]
