"""The process beside a recorder that was asked to push or to watch for alerts: every task in a thread of its own.

It ends a bounded time after the run, whatever the servers it talks to do. Nothing waits for it: killed, it costs
freshness, and `jobmeter push` sends later what it has not.
"""

import os
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from jobmeter.errors import JobmeterError
from jobmeter.model import sync

CONTROL_FD = 3
"""Ends when the recorder does."""
PATIENCE_SECONDS = 60.0
"""How long after the end of a run its tasks may still try."""
_GRACE_SECONDS = 5.0
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Followed:
    """The run that is followed."""

    folder: Path
    environ: Mapping[str, str]


class Task(Protocol):
    """Something that is done again and again while a run lasts, and a last time at its end."""

    def turn(self, *, ended: bool) -> float | None:
        """Do what is due; gives the seconds until the next turn, None when there is nothing more to do."""


Begin = Callable[[Followed], Task | None]

TASKS: dict[str, str] = {
    "alerts": "jobmeter.service.alert_follow",
    "push": "jobmeter.delivery.push_task",
}
"""Modules with a function `begin` (a `Begin`), which gives None where its task was not asked for."""


def main(argv: Sequence[str]) -> int:
    """Follow the run in the folder that is named, with the tasks that are named or with all."""
    followed = Followed(Path(argv[0]), dict(os.environ))
    control = _control()
    if not _has_begun(followed.folder, control):
        return 0
    asked = [TASKS[name] for name in argv[1:] or TASKS if name in TASKS]
    tasks = [task for module in asked if (task := _begin(module, followed)) is not None]
    follow(tasks, lambda: _wait_for_end(control), patience_seconds=_patience(followed.environ))
    return 0


def _begin(module: str, followed: Followed) -> Task | None:
    """Prepare a task; one that cannot be, on a full disk say, leaves the others to go on."""
    begin: Begin = import_module(module).begin
    try:
        return begin(followed)
    except (OSError, JobmeterError) as error:
        print(f"jobmeter: {module.rpartition('.')[2]}: {error}", file=sys.stderr)
        return None


def follow(tasks: Sequence[Task], wait_for_end: Callable[[], None], *, patience_seconds: float) -> None:
    """Give every task its turns until the run is over, and then for a bounded time."""
    ended = threading.Event()
    threads = [
        threading.Thread(target=_work, args=(task, ended, patience_seconds), daemon=True) for task in tasks
    ]
    for thread in threads:
        thread.start()
    if threads:
        wait_for_end()
    ended.set()
    until = time.monotonic() + patience_seconds + _GRACE_SECONDS
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def _work(task: Task, ended: threading.Event, patience_seconds: float) -> None:
    pause: float | None = 0.0
    while pause is not None and not ended.wait(pause):
        pause = task.turn(ended=False)
    ended.wait()
    until = time.monotonic() + patience_seconds
    while (pause := task.turn(ended=True)) is not None and time.monotonic() + pause < until:
        time.sleep(pause)


def _has_begun(folder: Path, control: int | None) -> bool:
    """Wait for the record of the start; until then the recorder may still give up and take the folder away."""
    while not (folder / sync.RUN).exists():
        if control is None or _is_over(control, _LOOK_SECONDS):
            return (folder / sync.RUN).exists()
    return True


def _control() -> int | None:
    try:
        os.fstat(CONTROL_FD)
    except OSError:
        return None  # started by hand
    return CONTROL_FD


def _is_over(control: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(control, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _wait_for_end(control: int | None) -> None:
    while control is not None and not _is_over(control, 3600.0):
        continue


def _patience(environ: Mapping[str, str]) -> float:
    try:
        return max(0.0, float(environ.get("JOBMETER_PUSH_PATIENCE", PATIENCE_SECONDS)))
    except ValueError:
        return PATIENCE_SECONDS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
