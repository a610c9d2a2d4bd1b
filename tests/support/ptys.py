"""A real terminal with a program in it: type, wait for what appears, resize, hang up."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Iterator, Mapping
from pathlib import Path


class Screen:
    """The master side of a terminal in which a session leader runs."""

    def __init__(
        self, words: list[str], env: Mapping[str, str], cwd: Path, rows: int = 24, columns: int = 80
    ) -> None:
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(words[0], words, env)  # noqa: S606  # no shell is wanted
        self.resize(rows, columns)
        self.seen = b""
        self._status: int | None = None

    def resize(self, rows: int, columns: int) -> None:
        """Change the window; the kernel tells the foreground group."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str) -> None:
        """Press keys; `\\x03` is Ctrl-C, `\\x1a` Ctrl-Z, `\\x1c` Ctrl-\\."""
        os.write(self._fd, text.encode())

    def expect(self, pattern: str, seconds: float = 30) -> str:
        """Wait until what appeared since the last match contains `pattern`, and give the match."""
        deadline = time.monotonic() + seconds
        while (found := re.search(pattern.encode(), self.seen)) is None:
            left = deadline - time.monotonic()
            assert left > 0, f"{pattern!r} did not appear in {self.seen[-500:]!r}"
            self._read(left)
        self.seen = self.seen[found.end() :]
        return found[0].decode()

    def nudge(self, pattern: str, seconds: float = 30) -> None:
        """Press Enter now and then until a shell, which tells news only then, tells what is waited for."""
        deadline = time.monotonic() + seconds
        while re.search(pattern.encode(), self.seen) is None:
            assert time.monotonic() < deadline, f"{pattern!r} did not appear in {self.seen[-500:]!r}"
            self.type("\n")
            time.sleep(0.2)
            self._read(0)
        self.expect(pattern)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False  # everybody left the terminal
        self.seen += data
        return bool(data)

    def everything(self, seconds: float = 10) -> bytes:
        """Read until the program has ended and all is read."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._read(deadline - time.monotonic()):
            continue
        return self.seen

    def settings(self) -> list[object]:
        """Read how the terminal is set."""
        return list(termios.tcgetattr(self._fd))

    def foreground(self) -> int:
        """Give the process group in front."""
        return os.tcgetpgrp(self._fd)

    def wait(self, seconds: float = 10) -> int:
        """Wait for the program and give its exit code, negative for a signal."""
        deadline = time.monotonic() + seconds
        while self._status is None:
            self._read(0.01)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
            assert time.monotonic() < deadline, f"it did not end; last seen {self.seen[-500:]!r}"
        return self._status

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self._fd)
        self._fd = -1

    def close(self) -> None:
        """End whatever still runs in the terminal's session."""
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if os.getsid(int(entry.name)) == self.pid:
                    os.kill(int(entry.name), signal.SIGKILL)
        if self._status is None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        if self._fd >= 0:
            os.close(self._fd)


@contextlib.contextmanager
def screen(words: list[str], env: Mapping[str, str], cwd: Path) -> Iterator[Screen]:
    """Open a terminal with a program in it, for the length of a test."""
    shown = Screen(words, env, cwd)
    try:
        yield shown
    finally:
        shown.close()
