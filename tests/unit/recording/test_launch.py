"""Starting a command, from a process of its own: what it inherits and what is said when it cannot start."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jobmeter.recording import launch


class Caller:
    """What a recorder found of its caller."""

    def __init__(self, child_signal: object) -> None:
        self.child_signal = child_signal
        self.blocked: set[int] = set()


def heritage(outputs: dict[int, int], child_signal: object) -> launch.Inheritance:
    return launch.Inheritance(outputs, Caller(child_signal))  # type: ignore[arg-type]  # only these are looked at


def started(
    command: list[str], outputs: dict[int, int] | None = None, child_signal: object = signal.SIG_DFL
) -> int:
    """Start a command, wait for it and give its exit code."""
    pid = launch.start(command, heritage(outputs or {}, child_signal))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("child_signal", [signal.SIG_DFL, signal.SIG_IGN])
class TestStarting:
    def test_the_exit_code_and_output_are_the_commands(self, child_signal: object) -> None:
        reader, writer = os.pipe()
        code = started(["sh", "-c", "echo $0 $1; exit 5", "a b", "c"], {1: writer}, child_signal)
        os.close(writer)
        with os.fdopen(reader) as output:
            assert output.read() == "a b c\n"
        assert code == 5

    def test_the_command_leads_a_group_of_its_own(self, child_signal: object) -> None:
        pid = launch.start(["sleep", "60"], heritage({}, child_signal))
        assert os.getpgid(pid) == pid
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def test_ignoring_children_is_handed_on_only_where_it_was_so(self, child_signal: object) -> None:
        ignored = ["grep", "-qE", "SigIgn:.*[13579bdf]....$", "/proc/self/status"]  # the bit of signal 17
        assert started(ignored, {}, child_signal) == (0 if child_signal == signal.SIG_IGN else 1)

    @pytest.mark.parametrize(
        ("name", "code", "reason"),
        [
            ("no-such-command-anywhere", 127, "No such file or directory"),
            ("", 127, "No such file or directory"),
            ("/etc/passwd/x", 127, "No such file or directory"),
            ("/etc/passwd", 126, "Permission denied"),
            ("/", 126, "Permission denied"),
        ],
    )
    def test_what_cannot_be_started_has_a_reason(
        self, name: str, code: int, reason: str, child_signal: object
    ) -> None:
        with pytest.raises(launch.ExecError, match=reason) as caught:
            started([name], {}, child_signal)
        assert caught.value.exit_code == code

    def test_a_script_without_an_interpreter_line_is_run_by_the_shell(
        self, child_signal: object, tmp_path: Path
    ) -> None:
        script = tmp_path / "script"
        script.write_text('test "$1" = "a b" && exit 9\n')
        script.chmod(0o755)
        assert started([str(script), "a b"], {}, child_signal) == 9

    def test_a_script_whose_interpreter_is_missing_is_not_found(
        self, child_signal: object, tmp_path: Path
    ) -> None:
        script = tmp_path / "script"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o755)
        with pytest.raises(launch.ExecError) as caught:
            started([str(script)], {}, child_signal)
        assert caught.value.exit_code == 127
        assert launch.exists(str(script))
        assert not launch.exists("no-such-command-anywhere")


def test_an_empty_entry_of_the_search_path_is_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\nexit 4\n")
    tool.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in ("/nowhere:", ":/nowhere", "/nowhere::/else", ""):
        monkeypatch.setenv("PATH", path)
        assert started(["tool"]) == 4
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(launch.ExecError):
        started(["tool"])
    monkeypatch.delenv("PATH")
    assert started(["sh", "-c", "exit 3"]) == 3  # where nothing is said the system's own folders are meant


LOCALE = """
import os, sys
os.environ['LC_CTYPE'] = {now!r}
from jobmeter.recording import launch
print(dict(launch._environment()).get('LC_CTYPE', 'none'))
"""


@pytest.mark.parametrize(
    ("given", "now", "expected"),
    [
        ({}, "C.UTF-8", "none"),
        ({"LC_CTYPE": "C"}, "C.UTF-8", "C"),
        ({"LC_CTYPE": "C.UTF-8"}, "C.UTF-8", "C.UTF-8"),
        ({}, "sv_SE.UTF-8", "sv_SE.UTF-8"),  # not Python's doing
    ],
)
def test_the_locale_python_set_for_itself_is_taken_back(
    given: dict[str, str], now: str, expected: str
) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("LC_")} | given
    done = subprocess.run(
        [sys.executable, "-c", LOCALE.format(now=now)], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{expected}\n"
