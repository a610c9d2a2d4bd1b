"""The line that says how far a long import is."""

import io

from jobmeter.cli.render.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_short_work_says_nothing() -> None:
    out, clock = Terminal(), Clock()
    progress = Progress(out, clock)
    clock.now += 1.9
    progress.say(lambda: "half")
    progress.clear()
    assert out.getvalue() == ""


def test_long_work_rewrites_one_line_and_takes_it_away() -> None:
    out, clock = Terminal(), Clock()
    progress = Progress(out, clock)
    for seconds in (2.0, 0.125, 0.125):
        clock.now += seconds
        progress.say(lambda: f"at {clock.now:.1f} \x1b[2J")
    progress.clear()
    progress.clear()
    assert out.getvalue() == "\r\x1b[Kat 102.0 \\x1b[2J\r\x1b[Kat 102.2 \\x1b[2J\r\x1b[K"


def test_a_long_name_does_not_wrap() -> None:
    out, clock = Terminal(), Clock()
    progress = Progress(out, clock)
    clock.now += 3
    progress.say(lambda: "x" * 5000)
    assert len(out.getvalue()) < 300


def test_a_pipe_is_told_nothing() -> None:
    out, clock = io.StringIO(), Clock()
    progress = Progress(out, clock)
    clock.now += 9
    progress.say(lambda: "never made")
    assert out.getvalue() == ""
