"""The disk is full or cannot be written: the training goes on, is told once, and keeps what fits."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.recorder import Home, only_folder
from support.training import script, steps, told, train, whole_lines

FILL = """
import os, sys, time
run = jobmeter.init()
for number in range(500):
    run.log({"before": number})
hog = os.open(sys.argv[1] + "/hog", os.O_WRONLY | os.O_CREAT)
for size in (65536, 4096, 1):
    try:
        while True: os.write(hog, b"x" * size)
    except OSError: pass
for number in range(20000):
    run.log({"full": number})
run.event("while full")
os.ftruncate(hog, 0)
path = run.folder / "steps.jsonl"
tries = 0
while b"after" not in path.read_bytes():
    run.log({"after": tries})
    tries += 1
    time.sleep(0.02)
run.event("again")
print(tries)
"""


def in_small_disk(home: Home, words: list[str], *, size: str = "1m") -> "subprocess.CompletedProcess[str]":
    """Run a command in a mount namespace whose home is a file system of `size`; copy what it holds out."""
    home.path.mkdir()
    copy = f'code=$?; cp -r "$0" "{home.path.parent / "copy"}"; exit $code'
    whole = f'mount -t tmpfs -o size={size} none "$0" && "$@"; {copy}'
    line = ["unshare", "-m", "sh", "-c", whole, str(home.path), *words]
    return subprocess.run(line, capture_output=True, text=True, env=home.environ(), timeout=60, check=False)


def test_a_disk_that_fills_up_costs_steps_and_is_told_once(home: Home) -> None:
    done = in_small_disk(home, [*script(FILL), str(home.path)], size="4m")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "jobmeter: what is logged is not kept for now: no space left on device\n"
    tries = int(done.stdout)
    folder = only_folder(home.path.parent / "copy")
    found = [record["metrics"] for record in steps(folder)]
    assert [metrics["before"] for metrics in found if "before" in metrics] == list(range(500))
    full = [metrics["full"] for metrics in found if "full" in metrics]
    assert full == list(range(len(full)))  # what fitted, none in the middle missing
    assert len(full) < 20000
    after = [metrics["after"] for metrics in found if "after" in metrics]
    assert after[-1] == tries - 1
    (finish,) = told(folder, "finish")
    assert finish["dropped"]["steps"] == 500 + 20000 + tries - len(found)
    assert [event["type"] for event in whole_lines(folder / "events.sdk.jsonl")][-1] == "again"


def test_a_disk_without_any_room_is_told_and_the_training_goes_on(home: Home) -> None:
    text = "run = jobmeter.init()\nfor n in range(10): run.log({'a': n})\nrun.finish()\nprint('trained')"
    fill = ["sh", "-c", 'head -c 100000 /dev/zero > "$JOBMETER_HOME/hog" 2>/dev/null; exec "$@"', "sh"]
    done = in_small_disk(home, [*fill, *script(text)], size="4k,nr_inodes=2")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr == (
        "jobmeter: the disk is full: the training goes on, but nothing of it can be kept\n"
    )


def test_a_home_that_cannot_be_written_is_told_once_and_the_training_goes_on(home: Home) -> None:
    text = "run = jobmeter.init(config={'a': 1})\nfor n in range(10): run.log({'a': n})\nprint('trained')"
    words = ["sh", "-c", 'mount -o remount,ro "$JOBMETER_HOME" && exec "$@"', "sh", *script(text)]
    done = in_small_disk(home, words)
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr == (
        f"jobmeter: cannot keep runs in {home.path}: read-only file system; "
        "choose a writable folder with --home or JOBMETER_HOME\n"
    )


def test_strict_raises_where_no_run_can_be_kept(home: Home) -> None:
    home.path.write_text("")
    done = train(home, "jobmeter.init(strict=True)", code=1)
    assert done.err.splitlines()[-1] == (
        f"jobmeter.errors.RecordError: cannot keep runs in {home.path}: not a directory"
    )


def test_a_folder_that_vanishes_costs_the_run_and_nothing_else(home: Home) -> None:
    text = """
    import shutil
    run = jobmeter.init()
    run.log({"a": 1})
    shutil.rmtree(run.folder)
    for number in range(3000):
        run.log({"a": number})
    run.event("lost")
    run.summary["x"] = 1
    run.finish()
    print("trained")
    """
    done = train(home, text)
    assert done.out == "trained\n"
    assert len(done.err.splitlines()) <= 1


@pytest.mark.parametrize(
    "how", ["sys.executable = ''", "sys.executable = '/usr/bin/uwsgi'", "sys.frozen = True"]
)
def test_no_interpreter_to_record_with_is_told_and_steps_are_kept(how: str, home: Home) -> None:
    """As in a program that embeds Python, or holds it frozen: that must never be started again."""
    text = f"import sys; {how}\nrun = jobmeter.init(); run.log({{'a': 1}}); run.finish()"
    done = train(home, text)
    assert done.err == (
        "jobmeter: no recorder could be started: steps are kept, what the training uses is not measured\n"
    )
    assert steps(done.folder)[0]["metrics"] == {"a": 1}


def test_the_memory_of_the_window_is_never_a_hole(home: Home) -> None:
    """A hole in the mapped file would be SIGBUS on a full disk: every byte is set aside before it is touched."""
    text = """
    import os, sys
    run = jobmeter.init()
    for number in range(3000):
        run.log({"a": number, "pad": 0.123456789})
        stat = os.stat(run.folder / "steps.jsonl")
        assert stat.st_blocks * 512 >= stat.st_size, (number, stat.st_blocks, stat.st_size)
    """
    done = subprocess.run(
        [sys.executable, *script(text)[1:]], env=home.environ(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(steps(only_folder(Path(home.path)))) == 3000
