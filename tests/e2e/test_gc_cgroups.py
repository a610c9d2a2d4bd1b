"""A recorder that was killed leaves a cgroup behind; `gc` takes it once the job has ended."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from support.recorder import wait_for


def test_gc_removes_the_cgroup_of_a_killed_recorder(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "JOBMETER_HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    with (tmp_path / "out").open("w") as out:
        recorder = subprocess.Popen(
            [sys.executable, "-m", "jobmeter", "run", "--", "sleep", "60"],
            env=environment,
            stdout=out,
            stderr=out,
        )
        wait_for(lambda: [*tmp_path.glob("home/runs/*/*/usage.jsonl")])
        (records,) = tmp_path.glob("home/runs/*/*/run.jsonl")
        context = json.loads(records.read_text().splitlines()[1])
        directories = [Path(name) for name in context["provenance"]["own_cgroup"]]
        assert directories
        assert all(directory.is_dir() for directory in directories)
        recorder.send_signal(signal.SIGKILL)
        recorder.wait()
    os.kill(context["pid"], signal.SIGKILL)
    wait_for(lambda: all(not (directory / "cgroup.procs").read_text() for directory in directories))
    done = subprocess.run(
        [sys.executable, "-m", "jobmeter", "gc", "--keep", "30d"],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [directory for directory in directories if directory.exists()] == []
