"""A campaign's file survives whatever happens to those who write it."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

from jobmeter.compat import campaign
from support.recorder import wait_for

ENDLESS = (
    "import sys; from jobmeter.compat import campaign\n"
    "samples = [{'ts': 'a', 'cpu': 1, 'mem_used_gb': 2}] * 200\n"
    "metrics = campaign.build_metrics(samples)\n"
    "while True:\n"
    "    campaign.record_build_result('eu', True, 1.0, resource_metrics=metrics, path=sys.argv[1])\n"
)


def total(path: Path) -> int:
    """Read how many builds there are; strictly, as any other program would."""
    return int(json.loads(path.read_text())["total_builds_all_regions"]) if path.exists() else 0


def test_writers_that_are_killed_leave_a_whole_file_and_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "campaign_stats.json"
    for _ in range(6):
        before = total(path)
        process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)])
        try:
            wait_for(lambda before=before: total(path) >= before + 3)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert total(path) >= before + 3
    counted = total(path)
    assert campaign.record_build_result("eu", True, 1.0, path=path) == (counted + 1, 100.0)


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "campaign_stats.json"
    campaign.record_build_result("eu", True, 1.0, build_id="a", path=path)
    before = path.read_bytes()
    words = [
        "campaign",
        "record",
        "--file",
        str(path),
        "--region",
        "eu",
        "--failure",
        "--home",
        str(tmp_path),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "jobmeter", *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
        # what measures coverage has no room either, and would complain
        env={name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE_", "COV_"))},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"cannot write" in done.stderr
    assert b"Traceback" not in done.stderr
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "campaign_stats.json",
        "campaign_stats.json.lock",
    ]
