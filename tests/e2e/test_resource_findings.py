"""What jobs did with what they were given, as `jobmeter analyze` tells it of jobs that were really run."""

import sys
from pathlib import Path

from support import faults
from support.faults import provoke
from support.recorder import Home

OFTEN = ("--sample-interval", "0.1", "--report-interval", "0.5")
PYTHON = (sys.executable, "-S", "-c")
TRAINED = (sys.executable, "-c")

FULL = """
import time
held = bytearray(b"x") * (112 << 20)
time.sleep(1)
"""


def test_memory_that_is_nearly_all_used(home: Home, memory_limit: str) -> None:
    # the recorder lives under the same limit: what measures coverage of it has no room there
    said = provoke(
        Home(home.path, traced=False), *OFTEN, *PYTHON, FULL, preexec_fn=faults.inside(memory_limit)
    )
    found = said.finding("near_limit")
    assert (said.cause, found["severity"]) == ("completed", "warning")
    assert found["figures"]["limit_bytes"] == 128 << 20
    assert found["figures"]["limit_source"] == "cgroup"
    # only what the job needs counts
    assert 112 / 128 <= found["figures"]["ratio"] < 0.95


TRAINING = """
import jobmeter
run = jobmeter.init(project="findings")
for step in range(120):
    run.log({{"loss": {loss}, "grad_norm": {gradient}}}, step=step)
run.finish()
"""


def test_a_loss_that_is_no_number_any_more(home: Home) -> None:
    loss = "2.0 / (step + 1) if step < 30 else float('nan')"
    found = provoke(home, *TRAINED, TRAINING.format(loss=loss, gradient="1.0")).finding("loss_nan")
    assert found["severity"] == "critical"
    assert (found["figures"]["step"], found["figures"]["count"]) == (30, 90)


def test_a_loss_scaler_that_finds_its_scale_is_nothing_to_worry_about(home: Home) -> None:
    loss = "float('nan') if step in (3, 50) else 2.0 / (step + 1)"
    gradient = "float('inf') if step < 8 else 1.0"
    said = provoke(home, *TRAINED, TRAINING.format(loss=loss, gradient=gradient))
    assert (said.cause, said.alarming) == ("completed", [])


def test_a_loss_that_went_up_for_good(home: Home) -> None:
    loss = "2.0 / (step + 1) if step < 60 else 1.2 ** (step - 60)"
    found = provoke(home, *TRAINED, TRAINING.format(loss=loss, gradient="1.0")).finding("loss_diverged")
    assert found["severity"] == "critical"
    assert 50 <= found["figures"]["best_step"] <= 60


RANK = """
import os, time
import jobmeter
run = jobmeter.init(project="findings")
for step in range(40):
    time.sleep(0.15 if os.environ["RANK"] == "1" else 0.03)
    run.log({"loss": 1.0 / (step + 1)}, step=step)
run.finish()
"""


def test_a_rank_that_holds_up_the_others(home: Home, tmp_path: Path) -> None:
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    ranks = " ".join(
        f"RANK={rank} WORLD_SIZE=3 LOCAL_RANK={rank} {sys.executable} {script} &" for rank in range(3)
    )
    found = provoke(home, *OFTEN, "sh", "-c", f"{ranks} wait").finding("stragglers")
    assert (found["severity"], found["rank"]) == ("warning", 1)
    assert found["figures"]["relative"] > 1.5
    assert found["figures"]["rank_count"] == 3


STARVED = """
import multiprocessing, time
import jobmeter

def load(queue, batches):
    for _ in range(batches):
        until = time.process_time() + 0.3
        while time.process_time() < until: sum(range(1000))
        queue.put(1)

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    worker = context.Process(target=load, args=(queue, 12))
    worker.start()
    run = jobmeter.init(project="findings", config={"num_workers": 1})
    for step in range(12):
        queue.get()
        run.log({"loss": 1.0 / (step + 1)}, step=step)
    worker.join()
    run.finish()
"""


def test_a_training_that_waits_for_its_worker(home: Home) -> None:
    found = provoke(home, *OFTEN, *TRAINED, STARVED).finding("gpu_starved")
    assert found["severity"] == "warning"
    assert found["figures"]["workers"] == 1
    assert found["figures"]["main_cores"] <= 0.5
    assert "gpu_util_percent" not in found["figures"]
