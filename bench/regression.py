"""How well `jobmeter check --against history` finds a step, and how often it cries wolf.

    python bench/regression.py [--cases 400] [--steps 10,25] [--before 30]
    python bench/regression.py --real 100

Simulated: for every kind of noise, `cases` histories of `before` runs and five runs after a step of so many
percent (found: a claim within the five), and as many of 60 runs without one (claims per 100 runs, over the runs
after the first `before`). Real: one short job is recorded so many times in a fresh home, and every run is judged
by those before it.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jobmeter.analysis import regression
from jobmeter.analysis.regression import Told

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, float], Floats]

WITHIN = 5
QUIET_RUNS = 60
JOB = "import sys\nheld = bytearray(40 << 20)\nsum(n * n for n in range(3_000_000))\n"
KEYS = ("cpu_seconds", "memory_peak")


def gaussian(draw: np.random.Generator, count: int, deviation: float) -> Floats:
    """Draw plain noise."""
    return draw.normal(0, deviation, count)


def lognormal(draw: np.random.Generator, count: int, deviation: float) -> Floats:
    """Draw noise with a long tail upwards, brought to the same deviation."""
    mean, spread = math.exp(0.32), math.sqrt((math.exp(0.64) - 1) * math.exp(0.64))
    return (draw.lognormal(0, 0.8, count) - mean) / spread * deviation


def exponential(draw: np.random.Generator, count: int, deviation: float) -> Floats:
    """Draw noise with a hard floor."""
    return (draw.exponential(1, count) - 1) * deviation


def two_modes(draw: np.random.Generator, count: int, deviation: float) -> Floats:
    """Draw from two equal humps, as of two kinds of hosts."""
    hump = np.where(draw.random(count) < 0.5, -0.95, 0.95)
    return (hump + draw.normal(0, 0.3, count)) * deviation


def uneven_modes(draw: np.random.Generator, count: int, deviation: float) -> Floats:
    """Draw 7 of 10 from a low hump, the others from a high one."""
    hump = np.where(draw.random(count) < 0.7, -0.65, 1.53)
    return (hump + draw.normal(0, 0.2, count)) * deviation


def outliers(draw: np.random.Generator, count: int, deviation: float) -> Floats:
    """Draw plain noise, and every twentieth run takes 20 to 100 % more."""
    return draw.normal(0, deviation, count) + (draw.random(count) < 0.05) * draw.uniform(0.2, 1, count)


NOISES: dict[str, tuple[Noise, float]] = {
    "Gaussian": (gaussian, 0.05),
    "skewed (log-normal)": (lognormal, 0.05),
    "skewed (exponential)": (exponential, 0.05),
    "bimodal 50:50": (two_modes, 0.05),
    "bimodal 70:30": (uneven_modes, 0.05),
    "outliers, else 2 %": (outliers, 0.02),
    "outliers, else 5 %": (outliers, 0.05),
}


def claims(values: Floats, begin: int) -> list[int]:
    """Name the runs from `begin` on after which a change for the worse is claimed."""
    judged = enumerate(regression.rulings(values.tolist()))
    return [place for place, ruling in judged if ruling.told is Told.WORSE and place >= begin]


def share_found(noise: str, step: float, *, cases: int, before: int) -> tuple[float, float]:
    """Give the percentage of steps found within five runs, and after how many runs half of them are."""
    draw = np.random.default_rng(11)
    make, deviation = NOISES[noise]
    after: list[int] = []
    for _ in range(cases):
        values = 100 * (1 + make(draw, before + WITHIN, deviation))
        values[before:] *= 1 + step
        found = claims(values, before)
        after.append(found[0] - before + 1 if found else WITHIN + 1)
    return 100 * sum(one <= WITHIN for one in after) / cases, float(np.median(after))


def false_claims(noise: str, *, cases: int, before: int) -> float:
    """Give the claims per 100 runs of a job that did not change."""
    draw = np.random.default_rng(12)
    make, deviation = NOISES[noise]
    found = 0
    for _ in range(cases):
        values = 100 * (1 + make(draw, QUIET_RUNS, deviation))
        found += len(claims(values, before))
    return 100 * found / (cases * (QUIET_RUNS - before))


def simulate(args: argparse.Namespace) -> None:
    """Print the table."""
    steps = [float(step) for step in args.steps.split(",")]
    heads = [f"{step:g} % step found (median run)" for step in steps]
    print(f"| noise | {' | '.join(heads)} | false claims per 100 runs |")
    print("|---|" + "---:|" * (len(steps) + 1))
    for noise in NOISES:
        cells = []
        for step in steps:
            share, usual = share_found(noise, step / 100, cases=args.cases, before=args.before)
            cells.append(f"{share:.0f} % ({usual:g})")
        wrong = false_claims(noise, cases=args.cases, before=args.before)
        print(f"| {noise} | {' | '.join(cells)} | {wrong:.2f} |", flush=True)


def record(repeats: int) -> None:
    """Record one job again and again, and judge every run by those before it."""
    from jobmeter.service import checking, runs
    from support.recorder import Home

    with tempfile.TemporaryDirectory() as folder:
        home, script = Home(Path(folder, "home")), Path(folder, "job.py")
        script.write_text(JOB)
        for _ in range(repeats):
            home.run("-q", "--", sys.executable, str(script))
        found = list(reversed(runs.list_runs(str(home.path))))
        for key in KEYS:
            values = np.array([checking.value_of(run, key) for run in found])
            spread = 100 * values.std(ddof=1) / values.mean()
            wrong = claims(values, 0)
            print(f"{key}: {len(wrong)} claims in {len(values)} runs, deviation {spread:.2f} %")


def main() -> None:
    """Simulate, or record for real."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--steps", default="10,25")
    parser.add_argument("--before", type=int, default=30)
    parser.add_argument("--real", type=int, metavar="REPEATS")
    args = parser.parse_args()
    if args.real:
        record(args.real)
    else:
        simulate(args)


if __name__ == "__main__":
    main()
