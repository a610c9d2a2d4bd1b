"""Under a real terminal a recorded command looks and behaves as without jobmeter."""

import os
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.ptys import Screen, screen
from support.recorder import JOBMETER, Home, events, records, sampled, wait_for

RUN = " ".join(JOBMETER) + " run -q"
PYTHON = shlex.quote(sys.executable) + " -S"
PROMPT = r"\$> "


def script(tmp_path: Path, text: str, name: str = "job.py") -> str:
    """Write a job down and give the words that run it."""
    (tmp_path / name).write_text(text)
    return f"{PYTHON} {tmp_path}/{name}"


@pytest.fixture
def shell(home: Home, tmp_path: Path) -> Iterator[Screen]:
    """Give an interactive bash with job control in a real terminal."""
    (tmp_path / "rc").write_text(
        "PS1='$> '; set +o history; bind 'set enable-bracketed-paste off' 2>/dev/null\n"
    )
    env = home.environ(TERM="xterm", PATH=os.environ["PATH"])
    with screen(["bash", "--rcfile", str(tmp_path / "rc"), "-i"], env, tmp_path) as shown:
        shown.expect(PROMPT)
        yield shown


def alone(home: Home, tmp_path: Path, *words: str) -> Screen:
    """Give a terminal whose only program is the recorder."""
    return Screen([*JOBMETER, "run", *words], home.environ(TERM="xterm"), tmp_path)


def test_the_job_sees_terminals_and_the_kept_bytes_have_no_carriage_returns(
    home: Home, tmp_path: Path
) -> None:
    job = "import os\nprint([os.isatty(fd) for fd in (0, 1, 2)])\nprint('\\rhalf\\rwhole\\tx')\nos.write(2, b'err\\n')"
    shown = alone(home, tmp_path, "-q", *shlex.split(script(tmp_path, job)))
    seen = shown.everything()
    assert shown.wait() == 0
    shown.close()
    assert seen == b"[True, True, True]\r\n\rhalf\r\r\nwhole\tx\r\nerr\r\n".replace(b"half\r\r\n", b"half\r")
    (folder,) = home.folders()
    assert (folder / "stdout").read_bytes() == b"[True, True, True]\n\rhalf\rwhole\tx\nerr\n"
    assert not (folder / "stderr").exists()


@pytest.mark.parametrize(
    ("how", "expected"), [("auto", b"True\r\n"), ("always", b"True\r\n"), ("never", b"False\r\n")]
)
def test_a_terminal_is_given_as_asked(how: str, expected: bytes, home: Home, tmp_path: Path) -> None:
    shown = alone(
        home, tmp_path, "-q", "--pty", how, sys.executable, "-S", "-c", "import os; print(os.isatty(1))"
    )
    assert shown.everything() == expected
    shown.close()


def test_a_terminal_can_be_forced_on_a_pipe(home: Home) -> None:
    done = home.run(
        "-q", "--pty", "always", sys.executable, "-S", "-c", "import os; print(os.isatty(1), os.isatty(2))"
    )
    assert done.stdout == b"True True\n"


def test_a_file_beside_a_terminal_is_inherited(shell: Screen, home: Home, tmp_path: Path) -> None:
    shell.type(f"{RUN} sh -c 'tty <&2 >/dev/null && test ! -t 1 && echo fine' > out; echo done-$?\n")
    shell.expect("done-0")
    assert (tmp_path / "out").read_text() == "fine\n"


def test_the_window_size_is_passed_on_and_followed(home: Home, tmp_path: Path) -> None:
    job = (
        "import os, signal, time\n"
        "def say(*_): print('size', *os.get_terminal_size(1), flush=True)\n"
        "signal.signal(signal.SIGWINCH, say)\nsay()\nwhile True: time.sleep(1)"
    )
    shown = alone(home, tmp_path, "-q", "--sample-interval", "0.1", *shlex.split(script(tmp_path, job)))
    shown.expect("size 80 24")
    shown.resize(50, 132)
    shown.expect("size 132 50")
    shown.close()


def test_ctrl_c_ends_the_job_and_the_prompt_comes_back(shell: Screen, home: Home) -> None:
    shell.type(f"{RUN} sh -c 'echo up; exec sleep 60'\n")
    shell.expect("\nup")
    wait_for(lambda: sampled(home.path))
    shell.type("\x03")
    shell.expect(PROMPT)
    shell.type("echo code-$?\n")
    shell.expect("code-130")
    assert shell.foreground() == shell.pid
    end = records(home.folders()[0])["end"]
    assert (end["exit_code"], end["signal"]) == (130, "SIGINT")


def test_ctrl_c_reaches_every_process_of_the_job_once(shell: Screen, tmp_path: Path) -> None:
    job = script(
        tmp_path,
        "import os, signal, time\n"
        "got = []\nsignal.signal(signal.SIGINT, lambda n, f: got.append(n))\n"
        "pid = os.fork()\nprint('up', flush=True)\nend = time.monotonic() + 30\n"
        "while not got and time.monotonic() < end: time.sleep(0.01)\n"
        "time.sleep(0.3)\nprint(f'got-{len(got)}.', flush=True)\n"
        "os.waitpid(pid, 0) if pid else os._exit(0)",
    )
    shell.type(f"{RUN} {job}; echo code-$?\n")
    shell.expect(r"up\s*up")
    shell.type("\x03")
    shell.expect(r"got-1\.\s*got-1\.")
    shell.expect("code-0")


def test_ctrl_c_ends_the_script_around_the_recorder_too(shell: Screen, tmp_path: Path) -> None:
    (tmp_path / "all.sh").write_text(f"{RUN} sh -c 'echo up; exec sleep 60'\necho not reached\n")
    shell.type("bash all.sh\n")
    shell.expect("\nup")
    shell.type("\x03")
    shell.expect(PROMPT)
    assert b"not reached" not in shell.seen
    shell.type("echo code-$?\n")
    shell.expect("code-130")


def test_ctrl_backslash_quits(shell: Screen) -> None:
    shell.type(f"ulimit -c 0; {RUN} sh -c 'echo up; exec sleep 60'\n")
    shell.expect("\nup")
    shell.type("\x1c")
    shell.expect(PROMPT)
    shell.type("echo code-$?\n")
    shell.expect("code-131")


COUNTING = (
    "import os, signal, sys, time\n"
    "got = {18: 0, 20: 0}\n"
    "def note(n, f): got[n] += 1\n"
    "signal.signal(18, note)\n"
    "print('up', flush=True)\n"
    "end = time.monotonic() + 20\n"
    "while not os.path.exists('stop') and time.monotonic() < end: time.sleep(0.01)\n"
    "print(f'continued-{got[18]}.', flush=True)\nsys.exit(5)"
)


def test_ctrl_z_stops_the_job_and_fg_continues_it_once(shell: Screen, home: Home, tmp_path: Path) -> None:
    shell.type(f"{RUN} {script(tmp_path, COUNTING)}; echo code-$?\n")
    shell.expect("\nup")
    wait_for(lambda: sampled(home.path))
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.expect(PROMPT)
    assert shell.foreground() == shell.pid
    shell.type("fg\n")
    shell.expect(r"run -q")
    (folder,) = home.folders()
    wait_for(lambda: events(folder, "continued"))
    time.sleep(0.2)  # a second continue would come by now
    (tmp_path / "stop").touch()
    shell.expect(r"continued-1\.")
    shell.type("echo code-$?\n")
    shell.expect("code-5")
    assert [event["type"] for event in events(folder)] == ["stopped", "continued"]


def test_bg_lets_the_job_go_on_in_the_background(shell: Screen, home: Home, tmp_path: Path) -> None:
    shell.type(f"{RUN} {script(tmp_path, COUNTING)}\n")
    shell.expect("\nup")
    wait_for(lambda: sampled(home.path))
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.expect(PROMPT)
    shell.type("bg\n")
    shell.expect(PROMPT)
    assert shell.foreground() == shell.pid
    wait_for(lambda: events(home.folders()[0], "continued"))
    (tmp_path / "stop").touch()
    shell.expect(r"continued-1\.")
    shell.type("wait\n")
    shell.expect("Exit 5")


def test_a_background_job_that_reads_the_terminal_stops_until_fg(shell: Screen) -> None:
    shell.type(f"{RUN} sh -c 'read x; echo got-$x' &\n")
    shell.expect(PROMPT)
    shell.nudge("Stopped")
    shell.type("fg\n")
    shell.expect("run -q")
    time.sleep(0.2)
    shell.type("hello\n")
    shell.expect("got-hello")
    shell.expect(PROMPT)


def test_the_job_reads_what_is_typed(shell: Screen) -> None:
    shell.type(f"{RUN} sh -c 'echo ask; read x; echo got-$x'; echo code-$?\n")
    shell.expect("\r\nask")
    shell.type("hello\n")
    shell.expect("got-hello")
    shell.expect("code-0")


@pytest.mark.parametrize("command", ["true", "no-such-command", "sh -c 'sleep 0.2'"])
def test_the_script_after_the_recorder_has_the_terminal_again(
    command: str, shell: Screen, tmp_path: Path
) -> None:
    (tmp_path / "all.sh").write_text(f"{RUN} {command}\necho ask\nread x\necho got-$x\n")
    shell.type("bash all.sh\n")
    shell.expect("\r\nask")
    shell.type("hello\n")
    shell.expect("got-hello")


def test_a_pager_behind_the_recorder_has_the_terminal(shell: Screen, tmp_path: Path) -> None:
    """`jobmeter run ... | less`: the pager reads keys from the terminal while the job runs."""
    pager = "print('page', input(), flush=True)\nprint('key-' + open('/dev/tty').readline(), flush=True)"
    shell.type(f"{RUN} sh -c 'echo line; sleep 1' | {script(tmp_path, pager)}; echo code-$?\n")
    shell.expect("\r\npage line")
    shell.type("q\n")
    shell.expect("key-q")
    shell.expect("code-0")


def test_a_job_in_a_pipeline_can_still_ask_for_a_password(shell: Screen, tmp_path: Path) -> None:
    """It is not in front at first: it gets the terminal when it asks for it."""
    job = "tty = open('/dev/tty')\nprint('ready', flush=True)\nprint('word-' + tty.readline(), flush=True)"
    shell.type(f"{RUN} {script(tmp_path, job)} | cat; echo code-$?\n")
    shell.expect("\r\nready")
    time.sleep(0.3)
    shell.type("secret\n")
    shell.expect("word-secret")
    shell.expect("code-0")


@pytest.mark.parametrize("last", ["cat", "cat >/dev/null"])
def test_ctrl_c_ends_a_pipeline(last: str, shell: Screen, home: Home) -> None:
    shell.type(f"{RUN} sh -c 'echo up; exec sleep 60' | {last}\n")
    wait_for(lambda: sampled(home.path))
    shell.type("\x03")
    shell.expect(PROMPT)
    wait_for(lambda: "end" in records(home.folders()[0]))
    assert records(home.folders()[0])["end"]["signal"] == "SIGINT"


def test_ctrl_z_stops_a_pipeline(shell: Screen, home: Home) -> None:
    shell.type(f"{RUN} sh -c 'echo up; sleep 1; echo over' | cat; echo code-$?\n")
    shell.expect("\r\nup")
    wait_for(lambda: sampled(home.path))
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.expect(PROMPT)
    shell.type("fg\n")
    shell.expect("\r\nover")


RAW = """
import os, sys, termios, tty
before = termios.tcgetattr(1)
tty.setraw(1)
os.write(1, b'raw>')
key = os.read(0, 1)
os.write(1, b'key=%d\\n|\\n' % key[0])
if sys.argv[1:] != ['leave']: termios.tcsetattr(1, termios.TCSADRAIN, before)
"""


def test_a_full_screen_program_gets_single_keys(shell: Screen, tmp_path: Path) -> None:
    """It sets its output terminal raw, as ncurses does, and reads keys from its input."""
    before = shell.settings()
    shell.type(f"{RUN} {script(tmp_path, RAW)}; echo code-$?\n")
    shell.expect("raw>")
    time.sleep(0.1)
    shell.type("\x01")
    shell.expect("key=1\n|\n")
    shell.expect("code-0")
    shell.expect(PROMPT)
    assert shell.settings()[:4] == before[:4]


def test_settings_a_job_left_behind_are_put_right(shell: Screen, tmp_path: Path) -> None:
    job = script(tmp_path, RAW)
    shell.type(f"stty -a > before; {RUN} {job} leave; stty -a > after; echo code-$?\n")
    shell.expect("raw>")
    time.sleep(0.1)
    shell.type("x")
    shell.expect("code-0")
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


def test_a_terminal_that_stops_background_writers_does_not_stop_us(shell: Screen) -> None:
    shell.type(f"stty tostop; {RUN} sh -c 'echo one; sleep 0.3; echo two'; echo code-$?\n")
    shell.expect("\r\none")
    shell.expect("\r\ntwo")
    shell.expect("code-0")


def test_a_window_that_is_closed_ends_the_job(home: Home, tmp_path: Path) -> None:
    shown = alone(home, tmp_path, "-q", "sleep", "60")
    folder = wait_for(lambda: sampled(home.path))
    shown.hang_up()
    wait_for(lambda: "end" in records(folder))
    end = records(folder)["end"]
    assert end["signal"] == "SIGHUP"
    shown.close()


def test_an_interactive_shell_can_be_recorded_with_its_own_job_control(
    shell: Screen, home: Home, tmp_path: Path
) -> None:
    """A shell controls jobs on the terminal its stderr is: it must be left to it."""
    (tmp_path / "inner").write_text("PS1='inner> '; bind 'set enable-bracketed-paste off' 2>/dev/null\n")
    shell.type(f"{RUN} --capture none bash --rcfile {tmp_path}/inner -i; echo code-$?\n")
    shell.expect("inner> ")
    inner_group = shell.foreground()
    shell.type("sleep 60\n")
    # before it executes, the shell's child does not stop
    wait_for(lambda: Path(f"/proc/{shell.foreground()}/comm").read_text() == "sleep\n")
    shell.type("\x1a")
    shell.expect("Stopped")
    assert shell.foreground() == inner_group
    shell.type("kill -9 %1; sleep 0.2\n")
    shell.expect("Killed")
    shell.type("exit 6\n")
    shell.expect("code-6")
    shell.expect(PROMPT)
    assert shell.foreground() == shell.pid
    assert records(home.folders()[0])["end"]["exit_code"] == 6


def test_the_summary_is_shown_in_the_terminal(shell: Screen) -> None:
    shell.type(f"{' '.join(JOBMETER)} run sleep 0.2; echo code-$?\n")
    shell.expect(r"jobmeter: completed \(exit 0\) after 2\d\d ms\r\n")
    shell.expect("code-0")
