"""One tracker, a thousand runs: started by `bench/ui_peers.py` with the interpreter of the tracker's own environment.

    many_runs.py TOOL FOLDER RUNS STEPS LONG_STEPS

Writes RUNS runs of STEPS steps of five numbers, the last of LONG_STEPS, by what the tracker offers to write many at
once. Prints the ids of the runs, one per line, the long one last. Standard library only beside the tracker.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tracker import CONFIG, metrics

PROJECT = "bench"
_BATCH = 1000


def jobmeter(folder: Path, runs: int, sizes: list[int]) -> Iterator[str]:
    """Write runs by the SDK, each with its recorder, as a script would."""
    os.environ["JOBMETER_HOME"] = str(folder)
    import jobmeter as tracker

    for number in range(runs):
        with tracker.init(project=PROJECT, name=_name(number), config=_config(number)) as run:
            for step in range(sizes[number]):
                run.log(metrics(step + number), step=step)
            yield run.id


def mlflow(folder: Path, runs: int, sizes: list[int]) -> Iterator[str]:
    """Write runs into its SQLite store, a thousand numbers at a time, which is the most it takes."""
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    experiment = client.create_experiment(PROJECT)
    for number in range(runs):
        run_id = client.create_run(experiment, run_name=_name(number)).info.run_id
        now = int(time.time() * 1000)
        client.log_batch(run_id, params=[Param(key, str(value)) for key, value in _config(number).items()])
        steps = range(sizes[number])
        all_metrics = [
            Metric(name, value, now + step, step)
            for step in steps
            for name, value in metrics(step + number).items()
        ]
        for begin in range(0, len(all_metrics), _BATCH):
            client.log_batch(run_id, metrics=all_metrics[begin : begin + _BATCH])
        client.set_terminated(run_id)
        yield run_id


def trackio(folder: Path, runs: int, sizes: list[int]) -> Iterator[str]:
    """Write runs into its SQLite store at once."""
    os.environ["TRACKIO_DIR"] = str(folder)
    from trackio.sqlite_storage import SQLiteStorage

    for number in range(runs):
        steps = range(sizes[number])
        SQLiteStorage.bulk_log(
            PROJECT,
            _name(number),
            [metrics(step + number) for step in steps],
            steps=list(steps),
            config=_config(number),
        )
        yield _name(number)


def aim(folder: Path, runs: int, sizes: list[int]) -> Iterator[str]:
    """Write runs by its SDK, without what it samples of the machine."""
    from aim import Run

    for number in range(runs):
        run = Run(
            repo=str(folder),
            experiment=PROJECT,
            system_tracking_interval=None,
            log_system_params=False,
            capture_terminal_logs=False,
        )
        run.name = _name(number)
        run["hparams"] = _config(number)
        for step in range(sizes[number]):
            run.track(metrics(step + number), step=step)
        yield run.hash
        run.close()


TOOLS = {tool.__name__: tool for tool in (jobmeter, mlflow, trackio, aim)}


def _name(number: int) -> str:
    return f"run-{number:04}"


def _config(number: int) -> dict[str, object]:
    return CONFIG | {"seed": number, "lr": 1e-4 * (1 + number % 10)}


def main() -> None:
    """Write the runs and name them."""
    tool, folder, runs, steps, long_steps = sys.argv[1:]
    sizes = [int(steps)] * (int(runs) - 1) + [int(long_steps)]
    for run_id in TOOLS[tool](Path(folder), int(runs), sizes):
        print(run_id, flush=True)


if __name__ == "__main__":
    main()
