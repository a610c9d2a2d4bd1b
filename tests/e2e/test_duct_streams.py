"""`jobmeter duct`: where outputs go, who is measured, and what variables and `.env` files say."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.ductdesk import JOBMETER, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# --- outputs


@pytest.mark.parametrize("capture", ["all", "none", "stdout", "stderr"])
@pytest.mark.parametrize("shown", ["all", "none", "stdout", "stderr"])
def test_each_stream_goes_where_it_was_sent(desk: Desk, capture: str, shown: str) -> None:
    done = desk.duct("-q", "-p", "x_", "-c", capture, "-o", shown, "sh", "-c", "echo out; echo err >&2")
    assert done.returncode == 0
    assert done.stdout == (b"out\n" if shown in ("all", "stdout") else b"")
    assert done.stderr == (b"err\n" if shown in ("all", "stderr") else b"")
    kept = [stream for stream in ("stderr", "stdout") if capture in ("all", stream)]
    assert [name for name in desk.files() if name in ("stdout", "stderr")] == kept
    for stream in kept:
        assert (desk.folder / f"x_{stream}").read_bytes() == {"stdout": b"out\n", "stderr": b"err\n"}[stream]


@pytest.mark.parametrize("redirection", ["", ">&2"])
def test_a_flood_of_output_arrives_byte_for_byte(desk: Desk, redirection: str) -> None:
    flood = os.urandom(8 << 20)
    (desk.folder / "flood").write_bytes(flood)
    done = desk.duct("-q", "-p", "x_", "sh", "-c", f"cat flood {redirection}")
    name, shown = ("stderr", done.stderr) if redirection else ("stdout", done.stdout)
    assert shown == flood
    assert (desk.folder / f"x_{name}").read_bytes() == flood


def test_output_redirected_to_a_file_is_kept_too(desk: Desk) -> None:
    (desk.folder / "log").write_text("before\n")
    with (desk.folder / "log").open("ab") as log:
        subprocess.run(
            [*JOBMETER, "-q", "-p", "x_", "echo", "out"],
            cwd=desk.folder,
            env=desk.environ,
            stdout=log,
            check=True,
        )
    assert (desk.folder / "log").read_text() == "before\nout\n"
    assert (desk.folder / "x_stdout").read_text() == "out\n"


def test_on_a_terminal_the_streams_are_kept_apart_and_the_job_sees_a_terminal(desk: Desk) -> None:
    code = "test -t 1 && test -t 2 && echo out; echo err >&2"
    words = shlex.join([*JOBMETER, "-q", "-p", "x_", "sh", "-c", code])
    shown = subprocess.run(
        ["script", "-qefc", words, "/dev/null"],
        cwd=desk.folder,
        env=desk.environ,
        capture_output=True,
        check=True,
    )
    assert sorted(shown.stdout.split()) == [b"err", b"out"]
    assert (desk.folder / "x_stdout").read_bytes() == b"out\n"
    assert (desk.folder / "x_stderr").read_bytes() == b"err\n"


# --- who is measured


@pytest.mark.parametrize("how", ["{} &", "( {} & );", "( nohup {} & ) &", "setsid {} &"])
def test_every_child_is_seen_however_it_was_started(desk: Desk, how: str) -> None:
    """The last one changes session, which con-duct cannot follow."""
    children = " ".join(how.format("sleep 1") for _ in range(5))
    script = f"{children} sleep 1.2"
    done = desk.duct("-q", "-p", "x_", "--s-i", "0.1", "--r-i", "0.2", "sh", "-c", script)
    assert done.returncode == 0
    seen = [command for command in desk.commands().values() if command.startswith("sleep ")]
    assert sorted(seen) == ["sleep 1"] * 5 + ["sleep 1.2"]


@pytest.fixture
def neighbour() -> Iterator[int]:
    """A process of this session that is no part of any job."""
    code = "import time; print('NEIGHBOUR', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"NEIGHBOUR\n"
    yield process.pid
    process.kill()
    process.communicate()


def test_only_current_session_sees_the_neighbours(desk: Desk, neighbour: int) -> None:
    for mode, prefix in (("new-session", "n_"), ("current-session", "c_")):
        words = ["-q", "--s-i", "0.1", "--r-i", "0.3", "--mode", mode, "-p", prefix]
        done = desk.duct(*words, "sh", "-c", "echo $$; exec sleep 1.2")
        assert done.stdout.decode().strip() in desk.commands(prefix), "the job itself is seen in both"
    assert str(neighbour) not in desk.commands("n_")
    assert "NEIGHBOUR" in desk.commands("c_")[str(neighbour)]
    alone, together = desk.summary("n_")["peak_rss"], desk.summary("c_")["peak_rss"]
    assert isinstance(alone, int)
    assert isinstance(together, int)
    assert together > alone + 4_000_000


# --- variables and .env files


def test_variables_stand_for_options(desk: Desk) -> None:
    done = desk.duct("true", DUCT_OUTPUT_PREFIX="v_", DUCT_MESSAGE="by variable", DUCT_LOG_LEVEL="none")
    assert done.stderr == b""
    assert desk.info("v_")["message"] == "by variable"


def test_a_dotenv_file_of_the_project_is_read(desk: Desk) -> None:
    (desk.folder / ".duct").mkdir()
    (desk.folder / ".duct" / ".env").write_text('DUCT_OUTPUT_PREFIX=e_\nDUCT_MESSAGE="two\nlines"\n')
    done = desk.duct("-m", "", "true", DUCT_CONFIG_PATHS=".duct/.env")
    assert done.returncode == 0
    assert desk.info("e_")["message"] == ""
    again = desk.duct("--clobber", "true", DUCT_CONFIG_PATHS=".duct/.env")
    assert again.returncode == 0
    assert desk.info("e_")["message"] == "two\nlines"
