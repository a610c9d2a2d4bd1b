"""Where the kernel's files are; a parameter everywhere, so tests read trees of their own."""


class Paths:
    """Roots of the pseudo file systems and of the device files."""

    __slots__ = ("dev", "proc", "sys")

    def __init__(self, proc: str = "/proc", sys: str = "/sys", dev: str = "/dev") -> None:
        self.proc = proc
        self.sys = sys
        self.dev = dev
