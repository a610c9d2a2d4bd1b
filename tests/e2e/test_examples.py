"""The example files do what they say, on this machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.recorder import Home

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(home: Home, name: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), "--interval", "0.05", *words],
        env=home.environ(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_the_examples_of_the_metrics_collector(home: Home) -> None:
    said = run(home, "metrics_collector_examples.py")
    assert "rank 3: step 10, loss 0.1038" in said
    assert "GPU: not measured" in said
    assert "loss of rank 0: " in said
    assert "low_throughput: rank 2: throughput " in said
    assert "exit codes: {0: 0, 1: 0}\nlast steps: [5, 5]" in said
    assert "refused: gpu_util must be between 0 and 100 percent: 130" in said


def test_the_examples_of_the_health_monitor(home: Home) -> None:
    said = run(home, "health_monitor_examples.py")
    assert "breaker: closed\nbreaker: open after 3 failures: " in said
    assert "breaker: closed again, at step 2" in said
    assert "samples by rank: {0: 1, 1: 0}" in said
    assert "rank 1: step 3, loss 0.6, told by {'training_loss': 'log:" in said


@pytest.mark.parametrize("number", ["2", "3"])
def test_one_example_can_be_chosen(home: Home, number: str) -> None:
    assert run(home, "health_monitor_examples.py", number).startswith(f"== {number}. ")
