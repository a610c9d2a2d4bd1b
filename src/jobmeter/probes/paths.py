"""Where the kernel's files are; a parameter everywhere, so tests read trees of their own."""


class Paths:
    """Roots of the pseudo file systems."""

    __slots__ = ("proc", "sys")

    def __init__(self, proc: str = "/proc", sys: str = "/sys") -> None:
        self.proc = proc
        self.sys = sys
