"""The disk is full, slow to free, read-only or broken: the job does not feel it, and no record is torn."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jobmeter.runfolder import reader
from support.recorder import JOBMETER, Home, lines, records

FILL = """
import os, sys, time
hog = os.open(sys.argv[1] + '/hog', os.O_WRONLY | os.O_CREAT)
time.sleep(0.25)
for size in (65536, 4096, 1):
    try:
        while True: os.write(hog, b'x' * size)
    except OSError: pass
time.sleep(0.3)
os.ftruncate(hog, 0)
for n in range(2000): os.write(1, b'%d\\n' % n)
time.sleep(0.3)
sys.exit(7)
"""


def in_small_disk(
    home: Home, script: str, *words: str, size: str = "1m"
) -> "subprocess.CompletedProcess[bytes]":
    """Run a shell script in a mount namespace whose home is a file system of `size`; copy what it holds out."""
    home.path.mkdir()
    outside = home.path.parent / "copy"
    whole = f'mount -t tmpfs -o size={size} none "$0" && {{ {script}; }}; code=$?; cp -r "$0" "{outside}"; exit $code'
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", whole, str(home.path), *words],
        capture_output=True,
        env=home.environ(),
        check=False,
    )


def test_a_disk_that_fills_up_costs_samples_and_nothing_else(home: Home) -> None:
    run = f'{" ".join(JOBMETER)} run -q --sample-interval 0.02 --report-interval 0.1 {sys.executable} -S -c "$1" "$0"'
    done = in_small_disk(home, run, FILL)
    assert done.stderr == b""
    assert done.returncode == 7
    assert done.stdout == b"".join(b"%d\n" % n for n in range(2000))
    (folder,) = (home.path.parent / "copy").glob("runs/*/*")
    end = records(folder)["end"]
    assert end["exit_code"] == 7
    assert end["dropped"]["usage"] >= 3
    usage = lines(folder / "usage.jsonl")
    waits = [line for line in usage if "wait_cputime" in line["measurements"]]
    carried = [line["num_samples"] for line in waits]
    assert max(carried) >= 3  # the window after the gap carries what was dropped
    assert sum(carried) == end["samples"]
    total = sum(line["measurements"]["wait_cputime"] for line in waits)
    assert total == pytest.approx(end["summary"]["wait_cputime"], abs=1e-3)
    assert reader.read_run(folder).provenance.dropped.get("usage") == end["dropped"]["usage"]


def test_output_that_the_disk_does_not_take_still_flows(home: Home) -> None:
    """Three megabytes through a disk of one: the copy ends early, the reader gets every byte."""
    script = "import os\nfor n in range(3000): os.write(1, b'%01000d' % n)"
    run = f'{" ".join(JOBMETER)} run -q {sys.executable} -S -c "$1"'
    done = in_small_disk(home, run, script)
    assert done.returncode == 0
    assert done.stdout == b"".join(b"%01000d" % n for n in range(3000))
    (folder,) = (home.path.parent / "copy").glob("runs/*/*")
    kept = (folder / "stdout").read_bytes()
    assert 0 < len(kept) < 1_100_000
    assert done.stdout.startswith(kept)
    run_lines = (folder / "run.jsonl").read_bytes().splitlines()
    assert json.loads(run_lines[0])["type"] == "start"
    ends = [json.loads(line) for line in run_lines if json.loads(line)["type"] == "end"]
    for end in ends:  # on a full disk the end may not fit; where it does it says what is missing
        assert end["dropped"]["stdout bytes"] == 3_000_000 - len(kept)


def test_a_disk_full_from_the_start_is_said_and_the_job_runs(home: Home) -> None:
    run = f'head -c 2000000 /dev/zero > "$0/hog" 2>/dev/null; {" ".join(JOBMETER)} run -q sh -c "echo ran; exit 5"'
    done = in_small_disk(home, run, size="64k,nr_inodes=2")
    assert (done.returncode, done.stdout) == (5, b"ran\n")
    assert done.stderr.splitlines()[-1:] == [
        b"jobmeter: the disk is full: the job runs, but nothing can be kept"
    ]


@pytest.mark.parametrize("kind", ["file", "read-only", "unwritable"])
def test_a_home_that_cannot_hold_runs_is_one_sentence(kind: str, home: Home) -> None:
    words = f'{" ".join(JOBMETER)} run touch "$0.started"'
    match kind:
        case "file":
            home.path.write_text("")
            done = subprocess.run(
                ["sh", "-c", words, str(home.path)], env=home.environ(), capture_output=True, check=False
            )
            reason = "not a directory"
        case "read-only":
            done = in_small_disk(home, f'mount -o remount,ro "$0" && {words}')
            reason = "read-only file system"
        case _:
            home.path.mkdir(mode=0o555)
            # root without the right to override permissions is an ordinary owner
            ordinary = f"exec setpriv --bounding-set=-dac_override,-dac_read_search {words}"
            done = subprocess.run(
                ["sh", "-c", ordinary, str(home.path)], env=home.environ(), capture_output=True, check=False
            )
            reason = "permission denied"
    assert done.returncode == 125
    assert done.stderr.decode().splitlines() == [
        f"jobmeter: cannot keep runs in {home.path}: {reason}",
        "hint: choose a writable folder with --home or JOBMETER_HOME",
    ]
    assert not Path(f"{home.path}.started").exists()
