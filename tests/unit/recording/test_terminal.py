"""The terminal's side of a recording where there is none, or one that went away."""

import os
import termios

from jobmeter.recording import terminal
from jobmeter.recording.terminal import Terminal


def test_without_a_terminal_nothing_is_given_taken_or_changed() -> None:
    nothing = Terminal(None)
    assert nothing.present is False
    assert nothing.in_front() is False
    assert nothing.give(os.getpgrp()) is False
    assert nothing.take_back(os.getpgrp()) is False
    assert nothing.belongs_to(os.getpgrp()) is False
    assert nothing.size_changed() is None
    nothing.follow_settings(0)
    nothing.restore()
    assert nothing.was_given is False


def test_a_descriptor_that_is_no_terminal_has_no_size_and_no_foreground() -> None:
    reader, writer = os.pipe()
    assert terminal.window_size(writer) is None
    not_one = Terminal(writer)
    assert not_one.in_front() is False
    assert not_one.take_back(1) is False
    os.close(reader)
    os.close(writer)


def test_a_size_is_told_once() -> None:
    master, slave = os.openpty()
    terminal.set_window_size(master, (50).to_bytes(2, "little") + (132).to_bytes(2, "little") + bytes(4))
    shown = Terminal(slave)
    assert shown.size_changed() is not None
    assert shown.size_changed() is None
    assert os.get_terminal_size(slave) == (132, 50)
    os.close(master)
    os.close(slave)


def changed(fd: int, *, raw: bool) -> None:
    settings = termios.tcgetattr(fd)
    if raw:
        settings[3] &= ~(termios.ISIG | termios.ICANON | termios.ECHO)
    else:
        settings[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSANOW, settings)


def test_settings_of_the_jobs_terminal_are_carried_over_and_put_back() -> None:
    real_master, real = os.openpty()
    job_master, job = os.openpty()
    shown = Terminal(real)
    shown.follow_settings(job_master)  # nothing was noted yet
    shown.mirrors(termios.tcgetattr(job))
    before = termios.tcgetattr(real)
    shown.follow_settings(job_master)
    assert termios.tcgetattr(real) == before
    changed(job, raw=False)
    shown.follow_settings(job_master)
    assert not termios.tcgetattr(real)[3] & termios.ECHO
    assert termios.tcgetattr(real)[1] & termios.OPOST  # it still writes lines
    changed(job, raw=True)
    shown.follow_settings(job_master)
    assert not termios.tcgetattr(real)[3] & termios.ICANON
    assert not termios.tcgetattr(real)[1] & termios.OPOST  # it draws the screen itself
    shown.restore()
    assert termios.tcgetattr(real) == before
    for fd in (real, job, job_master):
        os.close(fd)
    shown.follow_settings(job_master)  # the job closed its side
    shown.restore()  # the window is gone
    os.close(real_master)


def test_a_group_without_members_is_known() -> None:
    assert terminal._has_members(os.getpgrp())
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os._exit(0)
    os.waitpid(pid, 0)
    assert not terminal._has_members(pid)
