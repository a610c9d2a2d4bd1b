"""Notice how the training ends: an exception, `sys.exit`, the last line of the script, a fork.

What nobody can notice from inside (a signal, `os._exit`, kill -9) the recorder sees from outside. Hooks are
put in front of those that are there and pass everything on to them.
"""

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import NoReturn

    from jobmeter.hooks.run import Run

_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
_SCHEDULERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")
_INTERRUPTED = 130


def meaning(error: BaseException) -> tuple[int | None, str]:
    """Tell exit code and status that an exception stands for when nobody catches it."""
    if isinstance(error, KeyboardInterrupt):
        return _INTERRUPTED, "cancelled"
    if not isinstance(error, SystemExit):
        return 1, "failed"
    code = _exit_code(error.code)
    return code, "completed" if code == 0 else "failed"


def _exit_code(given: object) -> int:
    """Read the argument of `sys.exit` as the interpreter does: nothing is 0, a text is 1."""
    if given is None:
        return 0
    return given & 0xFF if isinstance(given, int) else 1


class Endings:
    """The hooks of this process; they ask who the active run is when they fire."""

    __slots__ = ("_active", "_error", "_excepthook", "_exit", "_exit_code", "_installed")

    def __init__(self, active: "Callable[[], Run | None]") -> None:
        self._active = active
        self._installed = False
        self._error: BaseException | None = None
        self._exit_code: int | None = None
        self._excepthook = sys.excepthook
        self._exit: Callable[..., NoReturn] = sys.exit

    def install(self) -> None:
        """Watch from now on; once per process."""
        if self._installed:
            return
        self._installed = True
        self._excepthook = sys.excepthook
        self._exit = sys.exit
        sys.excepthook = self._on_exception
        sys.exit = self._on_sys_exit
        atexit.register(self._at_exit)
        os.register_at_fork(after_in_child=self._after_fork)

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: "TracebackType | None"
    ) -> None:
        run = self._active()
        self._error = error
        if run is not None and not run.finished and not isinstance(error, KeyboardInterrupt):
            run.exception(error)
        self._excepthook(kind, error, trace)

    def _on_sys_exit(self, status: object = None, /) -> "NoReturn":
        import threading

        # in any other thread it ends that thread only
        if threading.current_thread() is threading.main_thread():
            self._exit_code = _exit_code(status)
        self._exit(status)

    def _at_exit(self) -> None:
        run = self._active()
        if run is None or run.finished:
            return
        exit_code, status = self._how()
        run.leave(exit_code, status, wait=_recorder_dies_with_us())

    def _how(self) -> tuple[int | None, str]:
        if self._error is not None:
            return meaning(self._error)
        if self._exit_code is not None:
            return self._exit_code, "completed" if self._exit_code == 0 else "failed"
        # `raise SystemExit(3)` leaves no trace here: the kernel knows
        return None, "completed"

    def _after_fork(self) -> None:
        self._error = self._exit_code = None
        run = self._active()
        if run is not None:
            run.after_fork()


def _recorder_dies_with_us() -> bool:
    """Tell whether the end of this process may be the end of every other: a container, a batch job."""
    if any(name in os.environ for name in _SCHEDULERS):
        return True
    try:
        return os.readlink("/proc/self/ns/pid") != _INITIAL_PID_NAMESPACE
    except OSError:
        return False
