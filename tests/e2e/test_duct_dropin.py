"""`jobmeter duct` in place of con-duct: the same words give the same behaviour, files and exit codes.

The cases follow what con-duct promises its users; where con-duct is known to be wrong the case says what is
right (descendants that change session are seen, a run whose files are deleted is still kept).
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.ductdesk import JOBMETER, Desk
from support.recorder import wait_for

CON_DUCT = Path(sys.executable).with_name("con-duct")
FOUR = ["info.json", "stderr", "stdout", "usage.jsonl"]

IGNORES_INTERRUPTS = """
import signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(60)
"""

BURN_HALF_A_SECOND = """
import time
end = time.process_time() + 0.5
while time.process_time() < end:
    pass
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# --- files and summary


def test_a_run_leaves_four_files_a_summary_and_a_run_folder(desk: Desk) -> None:
    done = desk.duct("-p", "x_", "--s-i", "0.1", "sh", "-c", "echo out; echo err >&2; sleep 0.5")
    assert (done.returncode, done.stdout) == (0, b"out\n")
    assert desk.files() == FOUR
    assert (desk.folder / "x_stdout").read_bytes() == b"out\n"
    assert (desk.folder / "x_stderr").read_bytes() == b"err\n"
    assert b"err\n" in done.stderr
    assert b"Summary:\nExit Code: 0\nCommand: sh -c echo out; echo err >&2; sleep 0.5\n" in done.stderr
    assert len(desk.runs()) == 1


def test_the_record_has_schema_0_2_3_and_what_was_measured(desk: Desk) -> None:
    busy = f"keep = bytearray(40 << 20)\n{BURN_HALF_A_SECOND}"
    desk.duct("-p", "x_", "--s-i", "0.1", "-m", "why", sys.executable, "-c", busy, SLURM_JOB_ID="17")
    info, summary = desk.info(), desk.summary()
    assert info["schema_version"] == "0.2.3"
    assert info["env"] == {"SLURM_JOB_ID": "17"}
    assert info["message"] == "why"
    assert info["working_directory"] == str(desk.folder)
    assert summary["logs_prefix"] == "x_"
    assert isinstance(summary["peak_rss"], int)
    assert 45e6 < summary["peak_rss"] < 80e6
    wall = summary["wall_clock_time"]
    assert isinstance(wall, float)
    average = summary["average_pcpu"]
    assert isinstance(average, float)
    assert 0.5 <= average / 100 * wall <= 0.8, "average percentage times wall is the CPU time used"
    assert summary["num_reports"] == len(desk.usage())


def test_percentages_of_lines_are_over_the_interval(desk: Desk) -> None:
    idle_after_work = f"{BURN_HALF_A_SECOND}\ntime.sleep(1.5)"
    desk.duct("-p", "x_", "--s-i", "0.1", "--r-i", "0.5", sys.executable, "-c", idle_after_work)
    totals = [line["totals"]["pcpu"] for line in desk.usage()]  # type: ignore[index]  # plain JSON
    over_the_life = desk.summary()["average_pcpu"]
    assert isinstance(over_the_life, float)
    assert over_the_life > 10
    assert totals[-2] < over_the_life / 2, "a lifetime average decays slowly, an interval's drops at once"


def test_con_ducts_own_tools_read_the_files(desk: Desk) -> None:
    desk.duct("-p", "x_", "--s-i", "0.1", "--r-i", "0.3", "sh", "-c", "sleep 0.4; echo done")
    listed = subprocess.run(
        [CON_DUCT, "ls", "-f", "json", "x_info.json"], cwd=desk.folder, capture_output=True, check=True
    )
    (row,) = json.loads(listed.stdout)
    assert row["command"] == "sh -c sleep 0.4; echo done"
    assert row["exit_code"] == "0"
    assert row["peak_rss"].endswith(" MB")
    for name in ("x_info.json", "x_usage.jsonl"):
        subprocess.run([CON_DUCT, "pp", "-H", name], cwd=desk.folder, capture_output=True, check=True)
        subprocess.run(
            [CON_DUCT, "plot", "-o", "plot.png", name], cwd=desk.folder, capture_output=True, check=True
        )
        assert (desk.folder / "plot.png").read_bytes().startswith(b"\x89PNG")
        (desk.folder / "plot.png").unlink()


def test_jobmeter_imports_what_its_drop_in_wrote(desk: Desk) -> None:
    desk.duct("-p", "x_", "--s-i", "0.1", "sleep", "0.3")
    words = [sys.executable, "-m", "jobmeter", "import", "x_info.json", "--json"]
    done = subprocess.run(words, cwd=desk.folder, env=desk.environ, capture_output=True, check=True)
    assert [run["format"] for run in json.loads(done.stdout)["runs"]] == ["duct"]


def test_a_command_shorter_than_the_interval_is_not_waited_for(desk: Desk) -> None:
    began = time.monotonic()
    assert desk.duct("-p", "x_", "--s-i", "40", "--r-i", "60", "echo", "hi").returncode == 0
    assert time.monotonic() - began < 20
    assert desk.files() == FOUR
    assert desk.usage() == []
    assert desk.summary()["peak_rss"] is None


def test_the_default_prefix_holds_the_time_and_the_pid(desk: Desk) -> None:
    desk.duct("-q", "true")
    names = sorted(path.name for path in (desk.folder / ".duct" / "logs").iterdir())
    assert len(names) == 4
    stamp, pid = names[0].removesuffix("_info.json").rsplit("-", 1)
    assert time.strptime(stamp, "%Y.%m.%dT%H.%M.%S").tm_year >= 2024
    assert pid.isdigit()


def test_a_prefix_that_ends_in_a_slash_is_a_directory(desk: Desk) -> None:
    desk.duct("-q", "-p", "new/logs/", "true")
    assert sorted(path.name for path in (desk.folder / "new" / "logs").iterdir()) == FOUR


@pytest.mark.parametrize(
    ("types", "filled"), [("system-summary", "info.json"), ("processes-samples", "usage.jsonl")]
)
def test_record_types_choose_which_file_is_filled(desk: Desk, types: str, filled: str) -> None:
    desk.duct("-q", "-p", "x_", "--s-i", "0.1", "-t", types, "sleep", "0.3")
    assert desk.files() == FOUR
    sizes = {name: (desk.folder / f"x_{name}").stat().st_size for name in ("info.json", "usage.jsonl")}
    assert [name for name, size in sizes.items() if size] == [filled]


def test_a_summary_format_of_ones_own(desk: Desk) -> None:
    done = desk.duct("-p", "x_", "--summary-format", "ended with {exit_code!E}", "true")
    assert b"ended with 0\n" in done.stderr
    broken = desk.duct("-p", "y_", "--summary-format", "{nothing}", "true")
    assert broken.returncode == 0
    assert b"cannot fill --summary-format" in broken.stderr


# --- quiet, errors, conflicts


@pytest.mark.parametrize("words", [["-q"], ["--quiet"], ["--log-level", "NONE"]])
def test_quiet_says_nothing(desk: Desk, words: list[str]) -> None:
    done = desk.duct(*words, "-p", "x_", "sleep", "0.1")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_word_run_may_stand_before_the_options(desk: Desk) -> None:
    assert desk.duct("run", "-q", "-p", "x_", "echo", "hi").stdout == b"hi\n"


def test_options_after_the_command_are_the_commands(desk: Desk) -> None:
    done = desk.duct("-q", "-p", "x_", "echo", "-q", "--clobber", "-p", "y_")
    assert done.stdout == b"-q --clobber -p y_\n"


def test_a_wrong_option_is_exit_code_2_and_runs_nothing(desk: Desk) -> None:
    done = desk.duct("--unknown", "touch", "proof")
    assert done.returncode == 2
    assert done.stderr.startswith(b"jobmeter: unrecognized arguments: --unknown\nhint: ")
    assert not (desk.folder / "proof").exists()


def test_help_and_version_are_told() -> None:
    shown = subprocess.run([*JOBMETER, "--help"], capture_output=True, check=True, text=True).stdout
    assert shown.startswith("usage: jobmeter duct [options] COMMAND")
    version = subprocess.run(
        [*JOBMETER, "run", "--version"], capture_output=True, check=True, text=True
    ).stdout
    assert version.startswith("jobmeter duct ")


def test_no_command_is_exit_code_2(desk: Desk) -> None:
    assert desk.duct("-q").returncode == 2


def test_an_unknown_field_in_the_prefix_is_one_sentence(desk: Desk) -> None:
    done = desk.duct("-p", "{nothing}_", "true")
    assert done.returncode == 2
    assert done.stderr.startswith(b"jobmeter: unknown field in --output-prefix: {nothing}\n")


def test_files_that_stand_there_are_not_overwritten(desk: Desk) -> None:
    (desk.folder / "x_stdout").write_text("precious")
    done = desk.duct("-p", "x_", "touch", "proof")
    assert done.returncode == 1
    assert b"Conflicting files:\n- x_stdout" in done.stderr
    assert (desk.folder / "x_stdout").read_text() == "precious"
    assert not (desk.folder / "proof").exists()


def test_clobber_overwrites(desk: Desk) -> None:
    (desk.folder / "x_stdout").write_text("a much longer text than the new one")
    assert desk.duct("-q", "--clobber", "-p", "x_", "echo", "new").returncode == 0
    assert (desk.folder / "x_stdout").read_bytes() == b"new\n"


def test_a_prefix_that_cannot_be_written_stops_before_the_command(desk: Desk) -> None:
    (desk.folder / "file").touch()
    done = desk.duct("-p", "file/x_", "touch", "proof")
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert not (desk.folder / "proof").exists()


# --- exit codes, failures, signals


@pytest.mark.parametrize("code", [1, 2, 128, 255])
def test_the_exit_code_passes_through_and_is_recorded(desk: Desk, code: int) -> None:
    done = desk.duct("-p", "x_", "--fail-time", "0", "sh", "-c", f"exit {code}")
    assert done.returncode == code
    assert f"Exit Code: {code}".encode() in done.stderr
    assert desk.summary()["exit_code"] == code


def test_a_command_that_fails_at_once_leaves_no_files_but_a_run(desk: Desk) -> None:
    done = desk.duct("-p", "x_", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert desk.files() == []
    assert b"Removing log files since command failed in less than 3.0 seconds." in done.stderr
    assert len(desk.runs()) == 1


def test_a_negative_fail_time_drops_the_files_of_every_failure(desk: Desk) -> None:
    assert desk.duct("-q", "-p", "x_", "--f-t", "-1", "sh", "-c", "exit 3").returncode == 3
    assert desk.files() == []
    assert desk.duct("-q", "-p", "x_", "--f-t", "-1", "true").returncode == 0
    assert desk.files() == FOUR


def test_a_command_that_is_not_there_is_127_and_leaves_no_files(desk: Desk) -> None:
    done = desk.duct("-p", "x_", "no_such_command_anywhere")
    assert done.returncode == 127
    assert b"no_such_command_anywhere: command not found" in done.stderr
    assert desk.files() == []


def test_a_command_that_is_not_executable_is_126_as_a_shell_says(desk: Desk) -> None:
    (desk.folder / "plain").write_text("text")
    assert desk.duct("-p", "x_", "./plain").returncode == 126
    assert desk.files() == []


def test_one_interrupt_reaches_the_command_and_is_recorded(desk: Desk) -> None:
    running = desk.start("-p", "x_", "--fail-time", "0", "sh", "-c", "echo ready; exec sleep 60")
    assert running.stdout is not None
    assert running.stdout.readline() == b"ready\n"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert running.returncode == 130
    assert desk.summary()["exit_code"] == 130


def test_three_interrupts_kill_a_command_that_ignores_them(desk: Desk) -> None:
    running = desk.start("-p", "x_", "--fail-time", "0", sys.executable, "-c", IGNORES_INTERRUPTS)
    assert running.stdout is not None
    assert running.stdout.readline() == b"ready\n"
    (folder,) = desk.runs()
    for sent in range(1, 4):
        running.send_signal(signal.SIGINT)
        if sent < 3:
            wait_for(lambda count=sent: _signals(folder) == count)  # type: ignore[misc]  # bound now
    running.communicate(timeout=30)
    assert running.returncode == 137
    assert desk.summary()["exit_code"] == 137


def _signals(folder: Path) -> int:
    events = folder / "events.jsonl"
    return events.read_text().count('"type": "signal"') if events.exists() else 0


def test_a_terminated_recorder_ends_the_command_and_keeps_the_record(desk: Desk) -> None:
    """con-duct dies here, orphans the command and leaves an info file of no bytes."""
    running = desk.start("-p", "x_", "--fail-time", "0", "sh", "-c", "echo $$; exec sleep 60")
    assert running.stdout is not None
    pid = int(running.stdout.readline())
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=30)
    assert running.returncode == 143
    assert desk.summary()["exit_code"] == 143
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
