"""A training that closes every descriptor it does not know keeps its own files, and its steps."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.recorder import Home

CLOSE_ALL = """
import os, sys
import jobmeter
run = jobmeter.init(project="p")
run.log({"loss": 1.0})
os.closerange(3, 4096)
files = [open(f"mine{number}", "w+b") for number in range(12)]
for file in files:
    file.write(b"m" * 200_000)
    file.flush()
for step in range(3000):
    run.log({"loss": float(step)})
run.summary["best"] = 1
run.config.update({"lr": 0.1})
run.finish() if sys.argv[1] == "finish" else None
for file in files:
    file.write(b"e")
    file.close()
print(run.folder)
"""


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("ending", ["finish", "exit"])
def test_files_under_the_old_numbers_are_left_alone(
    home: Home, tmp_path: Path, joined: bool, ending: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(CLOSE_ALL)
    under = [sys.executable, "-m", "jobmeter", "run", "-q"] if joined else []
    done = subprocess.run(
        [*under, sys.executable, str(script), ending],
        cwd=tmp_path,
        env=home.environ(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    for number in range(12):
        assert (tmp_path / f"mine{number}").read_bytes() == b"m" * 200_000 + b"e"
    text = (Path(done.stdout.decode().strip()) / "steps.jsonl").read_bytes().partition(b"\0")[0]
    steps = [json.loads(line)["metrics"]["loss"] for line in text.splitlines()]
    assert steps == [1.0, *map(float, range(3000))]
