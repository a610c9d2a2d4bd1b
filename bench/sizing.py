"""How much memory jobmeter's advice would have wasted on recorded workflows, beside other ways to ask for memory.

    python bench/sizing.py [--order start|complete] [--overlapping] [--quick] [TRACE.csv ...]

A trace is Nextflow's, with `process memory peak_rss rchar realtime start complete`. Tasks come in the order
they began (or ended) and are advised from those before them only; `--overlapping` hides those that had not
ended yet when a task began. Waste is memory times time: what was held too much, and failed attempts whole (they
are counted as failing at their very end); a failed task is repeated with the user's own request. Nobody asks for
more than the user did, and the first two tasks of a process get what the user asked for.
"""

import argparse
import heapq
import itertools
import math
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench")]

import sizing_policies  # noqa: E402  # a neighbour, not a package
from jobmeter.analysis.sizing.ledger import Prices  # noqa: E402
from jobmeter.analysis.sizing.past import Usage  # noqa: E402
from jobmeter.formats import nextflow  # noqa: E402
from jobmeter.model.run import Run  # noqa: E402
from sizing_policies import Policy  # noqa: E402

CORPUS = Path(os.environ.get("JOBMETER_CORPUS") or ROOT.parent / "shared" / "corpus") / "sizing"
LEAST_SECONDS = 0.001
"""Tasks that took less than the clock's tick count as tasks, and weigh next to nothing."""
GRID = [
    Prices(failure=failure, tolerated=tolerated)
    for failure, tolerated in itertools.product((3.0, 6.0, 12.0), (0.02, 0.025, 0.05))
]
TOLERATED = 0.012
"""Constants are tried on other workflows with less than the 1.7 % failed tasks that are allowed."""
BINS = (0.0, 0.005, 0.01, 0.02, 0.05, 1.0)


@dataclass(frozen=True, slots=True)
class Task:
    """One row of a trace."""

    process: str
    began: float
    ended: float
    usage: Usage
    asked: float


@dataclass(slots=True)
class Score:
    """What a policy came to on one workflow."""

    tasks: int = 0
    failed: int = 0
    user_waste: float = 0.0
    waste: float = 0.0
    promised: float = 0.0
    saved: float = 0.0
    stated: list[tuple[float, bool]] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Waste against that of the users' own requests."""
        return self.waste / self.user_waste

    @property
    def failures(self) -> float:
        """Share of tasks that failed."""
        return self.failed / self.tasks


def read_trace(path: Path, order: str) -> list[Task]:
    """Read the tasks that say what they used and what was asked for, with whatever units the trace has."""
    rows = [one.run for one in nextflow.parse(path)]
    tasks = [task for run in rows if (task := read_task(run)) is not None]
    if len(tasks) < len(rows):
        print(f"{path.name}: {len(rows) - len(tasks)} of {len(rows)} tasks left out", file=sys.stderr)
    return sorted(tasks, key=lambda task: (task.began if order == "start" else task.ended, task.ended))


def read_task(run: Run) -> Task | None:
    """Take one task; None without memory, request or times, or where it used more than it asked for."""
    amount, asked = run.summary.get("nextflow_peak_rss"), run.limits.memory_bytes
    began, ended, realtime = run.started_at, run.ended_at, run.wall_seconds
    if not isinstance(amount, int | float) or asked is None or began is None or ended is None:
        return None
    if realtime is None or amount > asked:
        return None
    read = run.summary.get("nextflow_rchar")
    usage = Usage(
        amount=amount,
        seconds=max(realtime, LEAST_SECONDS),
        asked=asked,
        input_bytes=read if isinstance(read, int | float) else None,
    )
    return Task(run.tags["process"], began, ended, usage, asked)


def score(
    tasks: Sequence[Task], make: Callable[[], Policy], *, with_inputs: bool, overlapping: bool
) -> Score:
    """Advise every task from those before it, and add up."""
    policies: defaultdict[str, Policy] = defaultdict(make)
    running: list[tuple[float, int, Task]] = []
    total = Score()
    for place, task in enumerate(tasks):
        while running and (not overlapping or running[0][0] <= task.began):
            done = heapq.heappop(running)[2]
            policies[done.process].learn(done.usage)
        policy = policies[task.process]
        said = policy.ask(task.usage.input_bytes if with_inputs else None)
        add(total, task, said, None if said is None else policy.failure_probability)
        heapq.heappush(running, (task.ended, place, task))
    return total


def add(total: Score, task: Task, said: float | None, chance: float | None) -> None:
    """Add what one task wasted."""
    usage = task.usage
    asked = task.asked if said is None else min(said, task.asked)
    failed = asked < usage.amount
    held = (asked + task.asked if failed else asked) * usage.seconds
    total.tasks += 1
    total.failed += failed
    total.user_waste += (task.asked - usage.amount) * usage.seconds
    total.waste += held - usage.amount * usage.seconds
    if chance is not None:
        total.stated.append((chance, failed))
        total.promised += (task.asked - asked - chance * task.asked) * usage.seconds
        total.saved += task.asked * usage.seconds - held


def mean_ratio(scores: Iterable[Score]) -> float:
    """Give the geometric mean over workflows."""
    logarithms = [math.log(one.ratio) for one in scores]
    return math.exp(sum(logarithms) / len(logarithms))


Traces = dict[str, list[Task]]


def score_all(
    traces: Traces, make: Callable[[], Policy], options: argparse.Namespace, *, with_inputs: bool
) -> list[Score]:
    """Score one policy on every workflow."""
    overlapping: bool = options.overlapping
    return [score(tasks, make, with_inputs=with_inputs, overlapping=overlapping) for tasks in traces.values()]


def jobmeter_policy(prices: Prices, *, with_inputs: bool) -> Callable[[], Policy]:
    """Make jobmeter's policy for each process."""
    return lambda: sizing_policies.Jobmeter(prices, with_inputs=with_inputs)


def print_row(name: str, scores: Sequence[Score]) -> None:
    """Print one policy: mean waste, worst failures, then each workflow."""
    each = "".join(f"  {one.ratio:6.3f} {100 * one.failures:5.2f}%" for one in scores)
    worst = max(one.failures for one in scores)
    print(f"{name:<26} {mean_ratio(scores):6.3f}  {100 * worst:5.2f}%{each}")


def left_out(
    traces: Traces, options: argparse.Namespace, *, with_inputs: bool
) -> Iterator[tuple[str, Prices, Score]]:
    """Choose the constants on all workflows but one, and score that one."""
    tried = {
        prices: dict(
            zip(
                traces,
                score_all(
                    traces, jobmeter_policy(prices, with_inputs=with_inputs), options, with_inputs=with_inputs
                ),
                strict=True,
            )
        )
        for prices in GRID
    }
    for name in traces:
        others = {
            prices: [found[other] for other in traces if other != name] for prices, found in tried.items()
        }
        safe = [prices for prices in GRID if max(one.failures for one in others[prices]) <= TOLERATED]
        chosen = min(safe or GRID, key=lambda prices: mean_ratio(others[prices]))
        yield name, chosen, tried[chosen][name]


def print_calibration(scores: Sequence[Score]) -> None:
    """Print stated failure probabilities beside what happened."""
    stated = [pair for one in scores for pair in one.stated]
    print("  stated failure probability against failures:")
    for low, high in itertools.pairwise(BINS):
        found = [pair for pair in stated if low <= pair[0] < high]
        if found:
            mean = sum(chance for chance, _ in found) / len(found)
            happened = sum(failed for _, failed in found) / len(found)
            print(
                f"    {100 * low:4.1f} to {100 * high:5.1f} %: {len(found):6,} advices,"
                f" stated {100 * mean:5.2f} %, failed {100 * happened:5.2f} %"
            )
    promised = " ".join(f"{one.promised / one.saved:.2f}" for one in scores if one.saved > 0)
    print(f"  saving promised / saving had, by workflow: {promised}")


def print_jobmeter(traces: Traces, options: argparse.Namespace, *, with_inputs: bool) -> None:
    """Print jobmeter's row and what it is worth."""
    known = "input size known" if with_inputs else "input size not known"
    scores = score_all(
        traces, jobmeter_policy(Prices(), with_inputs=with_inputs), options, with_inputs=with_inputs
    )
    print_row("jobmeter, with input" if with_inputs else "jobmeter", scores)
    print_calibration(scores)
    if options.quick or len(traces) < 2:
        return
    found = list(left_out(traces, options, with_inputs=with_inputs))
    print(f"  constants chosen on the other workflows, {known}: {mean_ratio(one for _, _, one in found):.3f}")
    for name, prices, one in found:
        print(
            f"    {name}: failure {prices.failure:g}, tolerated {prices.tolerated:g}:"
            f" waste {one.ratio:.3f}, failed {100 * one.failures:.2f} %"
        )


def main() -> None:
    """Score every policy on every trace."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "traces",
        nargs="*",
        type=Path,
        metavar="TRACE.csv",
        help=f"default: {CORPUS.name}/*.csv of the corpus",
    )
    parser.add_argument("--order", choices=("start", "complete"), default="start")
    parser.add_argument(
        "--overlapping", action="store_true", help="a task knows only those that had ended when it began"
    )
    parser.add_argument("--quick", action="store_true", help="without leaving workflows out")
    options = parser.parse_args()
    paths = options.traces or sorted(CORPUS.glob("*.csv"))
    traces = {path.stem.removeprefix("trace_"): read_trace(path, options.order) for path in paths}
    print(f"{'':<26}   mean   worst" + "".join(f"  {name:^13.13}" for name in traces))
    for name, make in sizing_policies.BASELINES.items():
        print_row(name, score_all(traces, make, options, with_inputs=False))
    print_jobmeter(traces, options, with_inputs=False)
    print_jobmeter(traces, options, with_inputs=True)


if __name__ == "__main__":
    main()
