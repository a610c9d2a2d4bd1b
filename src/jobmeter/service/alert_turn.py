"""Which server of a home watches for alerts: two would tell everything twice, so the others wait for it to end."""

import os
from pathlib import Path
from threading import Event

from jobmeter.service import alert_follow

_LOOK_SECONDS = 5.0


class OnlyOne:
    """The right to watch over a home and to tell; the kernel gives it back however its holder ends."""

    def __init__(self, home: str) -> None:
        self._home = Path(home)
        self._fd: int | None = None
        self.was_anothers = False
        """Somebody else had it first, and may have left something untold."""

    def wait(self, stopping: Event) -> bool:
        """Wait for the right; False when told to stop before."""
        while not stopping.is_set():
            try:
                self._fd = alert_follow.lock(self._home)
            except OSError:
                return True  # a home nobody can write to has no second server that keeps anything
            if self._fd is not None:
                return True
            self.was_anothers = True
            stopping.wait(_LOOK_SECONDS)
        return False

    def release(self) -> None:
        """Let another server have it."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
