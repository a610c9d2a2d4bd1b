"""How sizing holds on traces nobody chose: the recorded ones cut, shuffled and asked for otherwise, and invented ones.

    python bench/sizing_stress.py [--only NAME] [TRACE.csv ...]

Each recorded trace is made into others: six tasks to a process, half of the tasks, another order, only small or
only large processes, a bootstrap, requests that are tight or absurd. Invented ones are what textbooks fear: heavy
tails, two kinds of task, growth with the input, drift, a step. All draws are seeded: two runs print the same.
"""

import argparse
import dataclasses
import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import sizing
from jobmeter.analysis.sizing.ledger import Prices
from jobmeter.analysis.sizing.past import Usage
from sizing import Task, Traces

GIB = float(1 << 30)
SEED = 20261116
PROCESSES, TASKS = 12, 60
SMALL = 40
"""Processes with up to so many tasks are small."""

Rng = np.random.Generator
Change = Callable[[Sequence[Task], Rng], list[Task]]


def by_process(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    """Sort tasks into processes, each in the trace's order."""
    found: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        found[task.process].append(task)
    return found


def chunks(tasks: Sequence[Task], _: Rng, *, size: int) -> list[Task]:
    """Make every so many tasks of a process a process of their own."""
    seen: defaultdict[str, itertools.count[int]] = defaultdict(itertools.count)
    return [
        dataclasses.replace(task, process=f"{task.process}#{next(seen[task.process]) // size}")
        for task in tasks
    ]


def half(tasks: Sequence[Task], rng: Rng) -> list[Task]:
    """Keep each task by the toss of a coin."""
    return [task for task, kept in zip(tasks, rng.random(len(tasks)) < 0.5, strict=True) if kept]


def shuffled(tasks: Sequence[Task], rng: Rng) -> list[Task]:
    """Give the places of a process to its tasks in another order."""
    orders = {name: iter(rng.permutation(len(found))) for name, found in by_process(tasks).items()}
    known = by_process(tasks)
    return [known[task.process][next(orders[task.process])] for task in tasks]


def bootstrapped(tasks: Sequence[Task], rng: Rng) -> list[Task]:
    """Draw the tasks of each process anew, with repetition."""
    known = by_process(tasks)
    return [known[task.process][int(rng.integers(len(known[task.process])))] for task in tasks]


def of_small(tasks: Sequence[Task], _: Rng) -> list[Task]:
    """Keep processes with few tasks."""
    known = by_process(tasks)
    return [task for task in tasks if len(known[task.process]) <= SMALL]


def of_large(tasks: Sequence[Task], _: Rng) -> list[Task]:
    """Keep processes with many tasks."""
    known = by_process(tasks)
    return [task for task in tasks if len(known[task.process]) > SMALL]


def asked_for(tasks: Sequence[Task], _: Rng, *, factor: float) -> list[Task]:
    """Let the user ask for so many times what the process ever needs."""
    most = {name: max(task.usage.amount for task in found) for name, found in by_process(tasks).items()}
    return [with_request(task, factor * most[task.process]) for task in tasks]


def with_request(task: Task, asked: float) -> Task:
    """Change what a task was given."""
    return dataclasses.replace(task, asked=asked, usage=dataclasses.replace(task.usage, asked=asked))


CHANGES: dict[str, Change] = {
    "6 tasks a process": functools.partial(chunks, size=6),
    "12 tasks a process": functools.partial(chunks, size=12),
    "half of the tasks": half,
    "another order": shuffled,
    "bootstrap": bootstrapped,
    "small processes": of_small,
    "large processes": of_large,
    "asked 1.1 x largest": functools.partial(asked_for, factor=1.1),
    "asked 50 x largest": functools.partial(asked_for, factor=50.0),
}


def log_normal(rng: Rng, inputs: np.ndarray, level: float) -> np.ndarray:
    """Scatter by a third, whatever the input."""
    return level * np.exp(0.3 * rng.standard_normal(len(inputs)))


def two_kinds(rng: Rng, inputs: np.ndarray, level: float) -> np.ndarray:
    """Need five times as much for inputs above a threshold."""
    large = inputs > np.quantile(inputs, 0.7)
    return level * np.where(large, 5.0, 1.0) * np.exp(0.05 * rng.standard_normal(len(inputs)))


def linear(rng: Rng, inputs: np.ndarray, level: float) -> np.ndarray:
    """Grow with the input, with a tenth of noise."""
    return level * (0.3 + inputs / inputs.mean()) * np.exp(0.1 * rng.standard_normal(len(inputs)))


def pareto(rng: Rng, inputs: np.ndarray, level: float) -> np.ndarray:
    """Have a tail of index 2: now and then ten times as much."""
    return level * (1 + rng.pareto(2.0, len(inputs)))


def drifting(rng: Rng, inputs: np.ndarray, level: float) -> np.ndarray:
    """Double over the trace."""
    rise = np.linspace(0, 1, len(inputs))
    return level * 2**rise * np.exp(0.05 * rng.standard_normal(len(inputs)))


def stepping(rng: Rng, inputs: np.ndarray, level: float) -> np.ndarray:
    """Need 1.8 times as much from the middle on."""
    later = np.arange(len(inputs)) >= len(inputs) // 2
    return level * np.where(later, 1.8, 1.0) * np.exp(0.05 * rng.standard_normal(len(inputs)))


INVENTED: dict[str, Callable[[Rng, np.ndarray, float], np.ndarray]] = {
    "log-normal": log_normal,
    "two kinds by input": two_kinds,
    "linear in the input": linear,
    "Pareto, index 2": pareto,
    "doubling slowly": drifting,
    "a step in the middle": stepping,
}


def invented(draw: Callable[[Rng, np.ndarray, float], np.ndarray], rng: Rng, factor: float) -> list[Task]:
    """Make up a workflow whose users ask for a multiple of what each process needs at most."""
    tasks: list[Task] = []
    for process in range(PROCESSES):
        inputs = np.exp(0.8 * rng.standard_normal(TASKS)) * GIB
        amounts = draw(rng, inputs, float(np.exp(rng.normal(0.0, 1.0)) * GIB))
        seconds = np.exp(rng.normal(5.0, 0.5, TASKS))
        asked = factor * float(amounts.max())
        for place in range(TASKS):
            usage = Usage(
                amount=float(amounts[place]),
                seconds=float(seconds[place]),
                asked=asked,
                input_bytes=float(inputs[place]),
            )
            began = 60.0 * place + process
            tasks.append(Task(f"p{process}", began, began + usage.seconds, usage, asked))
    return sorted(tasks, key=lambda task: task.began)


def stress_sets(traces: Traces) -> Iterator[tuple[str, Traces]]:
    """Make every set of traces, each from a seed of its own."""
    for name, change in CHANGES.items():
        changed = {
            trace: change(tasks, np.random.default_rng([SEED, place]))
            for place, (trace, tasks) in enumerate(traces.items())
        }
        # without a task that is advised there is nothing to score
        yield name, {trace: tasks for trace, tasks in changed.items() if tasks}
    for name, draw in INVENTED.items():
        yield (
            name,
            {f"seed {seed}": invented(draw, np.random.default_rng([SEED, seed]), 3.0) for seed in range(3)},
        )


def print_set(name: str, traces: Traces) -> None:
    """Print jobmeter's waste and worst failures beside those of the simplest policy."""
    options = argparse.Namespace(overlapping=False)
    simple = sizing.score_all(
        traces, sizing.sizing_policies.BASELINES["largest seen x 1.15"], options, with_inputs=False
    )
    cells = [simple]
    for with_inputs in (False, True):
        make = sizing.jobmeter_policy(Prices(), with_inputs=with_inputs)
        cells.append(sizing.score_all(traces, make, options, with_inputs=with_inputs))
    each = "  ".join(
        f"{sizing.mean_ratio(scores):6.3f} {100 * max(one.failures for one in scores):6.2f} %"
        for scores in cells
    )
    print(f"{name:<24}  {each}", flush=True)


def main() -> None:
    """Score every set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", nargs="*", type=Path, metavar="TRACE.csv")
    parser.add_argument("--only", help="sets whose name contains this")
    options = parser.parse_args()
    paths = options.traces or sorted(sizing.CORPUS.glob("*.csv"))
    traces = {path.stem.removeprefix("trace_"): sizing.read_trace(path, "start") for path in paths}
    print(f"{'waste, worst failed':<24}  largest x 1.15    jobmeter          with input")
    for name, found in stress_sets(traces):
        if options.only is None or options.only in name:
            print_set(name, found)


if __name__ == "__main__":
    main()
