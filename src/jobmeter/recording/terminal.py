"""The terminal jobmeter was started from: who is in front, how large it is, how it is set.

The job's group is made the terminal's foreground group, so that Ctrl-C and Ctrl-Z reach it exactly as
without jobmeter. Without a terminal every method does nothing.
"""

import _signal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STOPPERS = (_signal.SIGTSTP, _signal.SIGTTIN, _signal.SIGTTOU)


class Terminal:
    """The controlling terminal, if there is one."""

    __slots__ = ("_attributes", "_fd", "_given", "_mirrored", "_size", "group")

    def __init__(self, fd: int | None) -> None:
        self._fd = fd
        self.group = os.getpgrp()
        self._given = False
        self._size: bytes | None = None
        self._attributes: list[Any] | None = None
        self._mirrored: list[Any] | None = None

    @property
    def present(self) -> bool:
        return self._fd is not None

    @property
    def was_given(self) -> bool:
        """Whether the job's group has or had the terminal."""
        return self._given

    def in_front(self) -> bool:
        """Say whether jobmeter's own group has the terminal."""
        return self._fd is not None and _foreground(self._fd) == self.group

    def give(self, group: int) -> bool:
        """Hand the terminal to the job's group, if it is ours to give."""
        if self._fd is None or not self.in_front():
            return False
        try:
            os.tcsetpgrp(self._fd, group)
        except OSError:
            return False  # the group has ended
        self._given = True
        return True

    def belongs_to(self, group: int) -> bool:
        """Say whether that group has the terminal."""
        return self._fd is not None and _foreground(self._fd) == group

    def take_back(self, group: int) -> bool:
        """Take the terminal back if the job's group still has it, or left it to a group that is gone."""
        front = None if self._fd is None else _foreground(self._fd)
        if self._fd is None or front is None or not self._given:
            return False
        if front != group and _has_members(front):
            return False
        _signal.signal(_signal.SIGTTOU, _signal.SIG_IGN)
        try:
            os.tcsetpgrp(self._fd, self.group)
        except OSError:
            return False  # the terminal is gone
        return True

    def size_changed(self) -> bytes | None:
        """Give the new window size if it changed since the last look."""
        if self._fd is None:
            return None
        size = window_size(self._fd)
        if size == self._size:
            return None
        self._size = size
        return size

    def mirrors(self, settings: "list[Any]") -> None:
        """Note how the job finds its output terminal: what differs later, the job has changed."""
        self._mirrored = settings

    def follow_settings(self, master: int) -> None:
        """Carry settings the job made on its output terminal (no echo, raw) over to the real one."""
        import termios

        if self._fd is None or self._mirrored is None:
            return
        try:
            settings = termios.tcgetattr(master)
            if settings[:4] == self._mirrored[:4]:
                return
            before = self._attributes or termios.tcgetattr(self._fd)
            termios.tcsetattr(self._fd, termios.TCSANOW, _carried_over(settings, before))
        except termios.error:
            return  # the job closed its side, or the window is gone
        self._mirrored, self._attributes = settings, before

    def restore(self) -> None:
        """Put back the settings that were mirrored from the job."""
        if self._attributes is None or self._fd is None:
            return
        import termios

        try:
            termios.tcsetattr(self._fd, termios.TCSANOW, self._attributes)
        except termios.error:
            return  # the terminal was closed


def _carried_over(settings: "list[Any]", before: "list[Any]") -> "list[Any]":
    """Give the real terminal's settings for what the job made of its own."""
    import termios

    wanted = list(before)
    wanted[0], wanted[3], wanted[6] = settings[0], settings[3], settings[6]
    # output is left alone on the job's side, so that what is kept is what was written: whether the job wants
    # it raw shows in the rest, as cfmakeraw(3) sets it
    raw = not settings[3] & (termios.ISIG | termios.ICANON | termios.ECHO)
    wanted[1] = settings[1] & ~termios.OPOST | (0 if raw else before[1] & termios.OPOST)
    return wanted


def open_terminal() -> Terminal:
    """Find the controlling terminal."""
    try:
        return Terminal(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return Terminal(None)


def _foreground(fd: int) -> int | None:
    try:
        return os.tcgetpgrp(fd)
    except OSError:
        return None


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def window_size(fd: int) -> bytes | None:
    """Read rows and columns as the kernel's struct."""
    import fcntl
    import termios

    try:
        return fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8)
    except OSError:
        return None


def set_window_size(fd: int, size: bytes) -> None:
    """Set rows and columns of a pseudo-terminal."""
    import fcntl
    import termios

    fcntl.ioctl(fd, termios.TIOCSWINSZ, size)
