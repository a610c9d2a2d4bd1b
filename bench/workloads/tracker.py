"""One tracker, one measurement, one process: started by `bench/sdk.py` with the interpreter of the tracker's own
environment, prints one line of JSON. Standard library only; the tracker is imported by the measurement itself.

    tracker.py TOOL MEASUREMENT COUNT FOLDER

Measurements: `startup` (import and init, memory added after 100 steps), `burst` (calls back to back), `step`
(calls between steps of 5 ms), `bulk` (as fast as it goes, until finish returned), `read` (all of it back).
CPU of a call is that of the calling thread, less what reading that clock twice costs.
"""

import itertools
import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

Log = Callable[[dict[str, float], int], object]
Finish = Callable[[], object]

CONFIG = {"lr": 1e-4, "batch_size": 32, "model": "resnet50", "epochs": 90, "seed": 7}
NAMES = ("loss", "lr", "grad_norm", "accuracy", "tokens_per_second")


_NOISE = [random.Random(number).random() for number in range(65536)]  # noqa: S311  # no secret


def metrics(step: int) -> dict[str, float]:
    """Make five numbers as a training loop would have them: all digits used, noise that no codec can foresee."""
    return {
        "loss": 2.5 / (1 + step * 1e-4) + _NOISE[step & 0xFFFF] * 0.1,
        "lr": 1e-4 * (1 - step * 1e-7),
        "grad_norm": 1 + _NOISE[step * 3 + 7 & 0xFFFF],
        "accuracy": 0.5 + _NOISE[step * 5 + 11 & 0xFFFF] / 3,
        "tokens_per_second": 41000 + _NOISE[step * 7 + 13 & 0xFFFF] * 500,
    }


def start_jobmeter(_folder: Path) -> tuple[Log, Finish]:
    """Begin a run of its own, recorder included."""
    import jobmeter

    run = jobmeter.init(project="bench", name="bench", config=CONFIG)
    return run.log, run.finish  # type: ignore[return-value]  # takes any mapping


def start_trackio(_folder: Path) -> tuple[Log, Finish]:
    """Begin a local run with its default monitors."""
    import trackio

    trackio.init(project="bench", name="bench", config=CONFIG, embed=False)
    return trackio.log, trackio.finish


def start_wandb(folder: Path) -> tuple[Log, Finish]:
    """Begin an offline run."""
    import wandb

    run = wandb.init(project="bench", name="bench", config=CONFIG, mode="offline", dir=str(folder))
    return run.log, run.finish


def start_tensorboardx(folder: Path) -> tuple[Log, Finish]:
    """Begin an event file; five scalars are five calls."""
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(logdir=str(folder / "tb"))

    def log(values: dict[str, float], step: int) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, step)

    return log, writer.close


def start_mlflow(folder: Path) -> tuple[Log, Finish]:
    """Begin a run in SQLite with asynchronous logging, the fastest it offers."""
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.set_experiment("bench")
    run = mlflow.start_run(run_name="bench")
    mlflow.log_params(CONFIG)

    def log(values: dict[str, float], step: int) -> None:
        mlflow.log_metrics(values, step=step, synchronous=False)

    def finish() -> None:
        mlflow.flush_async_logging()
        mlflow.end_run()
        (folder / "run-id").write_text(run.info.run_id)

    return log, finish


STARTS: dict[str, Callable[[Path], tuple[Log, Finish]]] = {
    "jobmeter": start_jobmeter,
    "mlflow": start_mlflow,
    "tensorboardX": start_tensorboardx,
    "trackio": start_trackio,
    "wandb": start_wandb,
}


def rss_bytes() -> int:
    """Read this process's resident memory."""
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("VmRSS"))


def startup(tool: str, count: int, folder: Path) -> dict[str, float]:
    """Import and init, then a few steps."""
    memory, cpu, wall = rss_bytes(), time.process_time(), time.monotonic()
    log, finish = STARTS[tool](folder)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    for step in range(count):
        log(metrics(step), step)
    added = rss_bytes() - memory
    threads = len(os.listdir("/proc/self/task"))
    finish()
    return {"cpu_seconds": cpu, "wall_seconds": wall, "rss_bytes": added, "threads": threads}


def nothing(_values: dict[str, float], _step: int) -> None:
    """Be called: what the clock and the call cost."""


def timed(log: Log, count: int, between: Callable[[], object]) -> list[int]:
    """Time calls one by one, in nanoseconds of this thread's CPU."""
    clock = time.thread_time_ns
    taken = []
    for step in range(count):
        values = metrics(step)
        between()
        began = clock()
        log(values, step)
        taken.append(clock() - began)
    return sorted(taken)


def spread(taken: list[int], empty: list[int]) -> dict[str, float]:
    """Give median and 99th percentile in microseconds, less what an empty call shows."""
    floor = empty[len(empty) // 2]
    return {
        "median_us": (taken[len(taken) // 2] - floor) / 1000,
        "p99_us": (taken[len(taken) * 99 // 100] - floor) / 1000,
        "mean_us": (sum(taken) / len(taken) - sum(empty) / len(empty)) / 1000,
    }


def burst(tool: str, count: int, folder: Path) -> dict[str, float]:
    """Call back to back."""
    log, finish = STARTS[tool](folder)
    for step in range(50):
        log(metrics(step), step)
    empty = timed(nothing, count, lambda: None)
    taken = timed(log, count, lambda: None)
    finish()
    return spread(taken, empty)


class Work:
    """A step of a training loop: 5 ms of CPU over a few megabytes, so that caches are cold after it."""

    PIECE = 1_000

    def __init__(self) -> None:
        left = [float(number) for number in range(40_000)]
        right = [number * 0.5 for number in range(40_000)]
        places = range(0, len(left), self.PIECE)
        pieces = [(left[at : at + self.PIECE], right[at : at + self.PIECE]) for at in places]
        self._pieces = itertools.cycle(pieces)
        self._count = len(pieces)
        # twice: the first time the processor may not be at its speed yet
        for _ in range(2):
            began = time.thread_time()
            for _ in range(20):
                self()
            self._count = max(1, round(self._count * 0.005 / ((time.thread_time() - began) / 20)))

    def __call__(self) -> float:
        total = 0.0
        for left, right in itertools.islice(self._pieces, self._count):
            for one, other in zip(left, right, strict=True):
                total += one * other
        return total


def step(tool: str, count: int, folder: Path) -> dict[str, float]:
    """Call between steps."""
    log, finish = STARTS[tool](folder)
    work = Work()
    for number in range(10):
        work()
        log(metrics(number), number)
    # alternating, so that both meet the same weather
    halves: tuple[list[int], list[int]] = ([], [])
    for _ in range(4):
        halves[0].extend(timed(nothing, count // 4, work))
        halves[1].extend(timed(log, count // 4, work))
    began = time.thread_time()
    for _ in range(20):
        work()
    step_us = (time.thread_time() - began) / 20 * 1e6
    finish()
    found = spread(sorted(halves[1]), sorted(halves[0]))
    return {**found, "step_us": step_us, "slowdown_percent": 100 * found["median_us"] / step_us}


def bulk(tool: str, count: int, folder: Path) -> dict[str, float]:
    """Log as fast as it goes until everything is durable."""
    log, finish = STARTS[tool](folder)
    wall = time.monotonic()
    for number in range(count):
        log(metrics(number), number)
    finish()
    return {"wall_seconds": time.monotonic() - wall}


def read_jobmeter(_folder: Path) -> int:
    """Read the columns of the newest run."""
    import jobmeter

    columns = jobmeter.Api().runs()[0].columns()
    assert set(NAMES) <= set(columns)
    return len(columns["loss"])


def read_trackio(_folder: Path) -> int:
    """Read the rows its dashboard reads."""
    from trackio.sqlite_storage import SQLiteStorage

    return len(SQLiteStorage.get_logs("bench", "bench"))


def read_tensorboardx(folder: Path) -> int:
    """Read the event file with TensorBoard's own reader."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tb"), size_guidance={"scalars": 0})
    events.Reload()
    return min(len(events.Scalars(name)) for name in NAMES)


def read_mlflow(folder: Path) -> int:
    """Read the history of every metric."""
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{folder}/mlflow.db")
    run_id = (folder / "run-id").read_text()
    return min(len(client.get_metric_history(run_id, name)) for name in NAMES)


READS: dict[str, Callable[[Path], int]] = {
    "jobmeter": read_jobmeter,
    "mlflow": read_mlflow,
    "tensorboardX": read_tensorboardx,
    "trackio": read_trackio,
}
"""Trackers with a reader of their own; an offline run of W&B has none."""


def read(tool: str, count: int, folder: Path) -> dict[str, float]:
    """Read everything back, imports included."""
    began = time.process_time()
    rows = READS[tool](folder)
    cpu = time.process_time() - began
    assert rows == count, f"{rows} rows of {count}"
    return {"cpu_seconds": cpu, "rows": rows}


MEASUREMENTS: dict[str, Callable[[str, int, Path], dict[str, float]]] = {
    "bulk": bulk,
    "burst": burst,
    "read": read,
    "startup": startup,
    "step": step,
}


if __name__ == "__main__":
    answer = MEASUREMENTS[sys.argv[2]](sys.argv[1], int(sys.argv[3]), Path(sys.argv[4]))
    print(json.dumps(answer), flush=True)
