"""`jobmeter run` ends as its command ended."""

import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.recorder import JOBMETER, Home, records


def test_every_exit_code_is_passed_on(home: Home) -> None:
    def code_of(code: int) -> int:
        return home.run("-q", "sh", "-c", f"exit {code}").code

    with ThreadPoolExecutor(4) as pool:
        codes = [0, 1, 2, 42, 124, 125, 126, 127, 128, 130, 137, 143, 254, 255]
        assert list(pool.map(code_of, codes)) == codes


@pytest.mark.parametrize(
    ("name", "code", "status"),
    [("TERM", 143, "killed"), ("KILL", 137, "killed"), ("SEGV", 139, "killed"), ("PIPE", 141, "killed")],
)
def test_a_command_that_died_of_a_signal_ends_with_128_and_its_number(
    name: str, code: int, status: str, home: Home
) -> None:
    done = home.run("-q", "sh", "-c", f"ulimit -c 0; kill -{name} $$")
    assert done.code == code
    assert (done.run["status"], done.run["exit_code"], done.run["signal"]) == (status, code, f"SIG{name}")


def test_success_and_failure_are_recorded(home: Home) -> None:
    assert home.run("-q", "--name", "good", "true").code == 0
    assert home.run("-q", "--name", "bad", "false").code == 1
    ends = {r["start"]["name"]: r["end"] for r in map(records, home.folders())}
    assert (ends["good"]["status"], ends["good"]["exit_code"], ends["good"]["signal"]) == (
        "completed",
        0,
        None,
    )
    assert (ends["bad"]["status"], ends["bad"]["exit_code"], ends["bad"]["signal"]) == ("failed", 1, None)


def test_a_command_that_is_not_there_is_127(home: Home) -> None:
    done = home.run("no-such-command-here", "x")
    assert (done.code, done.stderr) == (127, b"jobmeter: no-such-command-here: command not found\n")
    assert (done.run["status"], done.run["exit_code"], done.run["samples"]) == ("failed", 127, 0)


@pytest.mark.parametrize("word", ["", "./nowhere/x", "/etc/passwd/x"])
def test_a_path_that_leads_nowhere_is_127(word: str, home: Home) -> None:
    assert home.run(word).code == 127


def test_a_file_that_may_not_be_executed_is_126(home: Home, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("echo hi\n")
    done = home.run(str(tmp_path / "plain"))
    assert (done.code, done.stderr) == (126, f"jobmeter: {tmp_path}/plain: permission denied\n".encode())
    assert home.run(str(tmp_path)).code == 126


def test_a_script_whose_interpreter_is_missing_says_so(home: Home, tmp_path: Path) -> None:
    script = executable(tmp_path / "script", "#!/no/such/interpreter\n")
    done = home.run(str(script))
    assert done.code == 127
    assert done.stderr == f"jobmeter: {script}: its interpreter was not found\n".encode()


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_script_without_an_interpreter_line_is_run_by_the_shell(home: Home, tmp_path: Path) -> None:
    script = executable(tmp_path / "script", 'echo "$1 and $2"; exit 5\n')
    done = home.run("-q", str(script), "a b", "c")
    assert (done.code, done.stdout) == (5, b"a b and c\n")


def test_the_search_path_is_searched_as_a_shell_does(home: Home, tmp_path: Path) -> None:
    """A folder and a file that may not be executed are passed over; an empty entry is the current folder."""
    (tmp_path / "a/tool").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/tool").write_text("not executable")
    executable(tmp_path / "c/tool", "#!/bin/sh\necho found\n")
    env = home.environ(PATH=f"{tmp_path}/a:{tmp_path}/nowhere:{tmp_path}/b:{tmp_path}/c")
    assert home.run("-q", "tool", env=env).stdout == b"found\n"
    here = home.environ(PATH=f"{tmp_path}/nowhere:")
    assert home.run("-q", "tool", env=here, cwd=tmp_path / "c").stdout == b"found\n"
    refused = home.run("-q", "tool", env=home.environ(PATH=f"{tmp_path}/b:{tmp_path}/nowhere"))
    assert refused.code == 126


def test_without_a_command_nothing_is_run(home: Home) -> None:
    done = home.run("--name", "x")
    assert (done.code, done.stdout) == (125, b"")
    assert done.stderr == b"jobmeter: no command to run\nhint: jobmeter run [options] [--] COMMAND\n"
    assert home.folders() == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--nmae", "x"], "jobmeter: unknown option: --nmae"),
        (["--timeout", "soon"], "jobmeter: bad value for --timeout: soon"),
        (["--measurements", "proc_rrs"], "jobmeter: unknown measurement: proc_rrs"),
        (["--measurements", "wait_cputime,-nope"], "jobmeter: unknown measurement: nope"),
        (["--measurements", "proc,-proc"], "jobmeter: no measurement is left to record"),
        (["--config", "/no/such/file"], "jobmeter: cannot read /no/such/file: No such file or directory"),
        (["--home", "/proc/x"], "jobmeter: cannot keep runs in /proc/x: no such file or directory"),
    ],
)
def test_what_cannot_be_done_is_125_before_the_job_starts(
    words: list[str], sentence: str, home: Home, tmp_path: Path
) -> None:
    done = home.run(*words, "touch", str(tmp_path / "started"))
    assert done.code == 125
    said = done.stderr.decode().splitlines()
    assert said[0] == sentence
    assert said[1].startswith("hint: ")
    assert len(said) == 2
    assert not (tmp_path / "started").exists()
    assert home.folders() == []


def test_a_timeout_ends_the_job_with_124(home: Home) -> None:
    done = home.run("-q", "--timeout", "0.3", "sleep", "60")
    assert done.code == 124
    assert (done.run["status"], done.run["exit_code"], done.run["signal"]) == ("cancelled", 124, "SIGTERM")
    assert 0.3 <= done.run["wall_seconds"] < 5


def test_a_job_that_handles_the_timeout_still_ends_with_124(home: Home) -> None:
    done = home.run("-q", "--timeout", "0.3", "sh", "-c", "trap 'echo saved; exit 0' TERM; sleep 60 & wait")
    assert (done.code, done.stdout) == (124, b"saved\n")


def test_a_job_that_ends_in_time_is_not_timed_out(home: Home) -> None:
    assert home.run("-q", "--timeout", "60", "sh", "-c", "exit 3").code == 3


def test_waiting_for_children_ends_at_the_timeout_too(home: Home) -> None:
    done = home.run(
        "-q", "--timeout", "0.4", "--wait-for-children", "sh", "-c", "sleep 60 & exit 3", seconds=20
    )
    assert done.code == 124
    assert done.run["status"] == "cancelled"


def test_help_is_on_stdout_and_is_no_failure() -> None:
    done = subprocess.run([*JOBMETER, "run", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: jobmeter run [options] [--] COMMAND")
    assert done.stderr == ""


def test_an_interrupt_while_starting_is_no_traceback(home: Home, tmp_path: Path) -> None:
    """The settings file is a pipe nobody writes to: the recorder waits in the middle of its start."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = home.start("--config", str(pipe), "true")
    fd = os.open(pipe, os.O_WRONLY)  # returns once the recorder has opened its end
    process.send_signal(signal.SIGINT)
    done = home.finish(process)
    os.close(fd)
    assert (done.code, done.stderr) == (130, b"")


def test_the_module_and_the_script_are_the_same_program(home: Home) -> None:
    script = Path(__file__).parents[2] / "scripts/jobmeter"
    done = subprocess.run(
        [sys.executable, str(script), "run", "-q", "sh", "-c", "exit 9"],
        env=home.environ(),
        check=False,
    )
    assert done.returncode == 9
