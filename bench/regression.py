"""How well `jobmeter check --against history` finds a step, and how often it cries wolf.

    python bench/regression.py [--cases 1500] [--steps 10,25] [--before 30] [--others]
    python bench/regression.py --real 100

Simulated: for every kind of noise, `cases` histories of `before` runs and five runs after a step of so many
percent (found: a claim within the five; after --steps=-10, an improvement, every claim is wrong), and as many
without a step, of which 30 runs after the first `before` are judged (claims per 100 runs, and the standard error of
that over the histories). `--others` takes kinds of noise on which nothing was tuned. Real: one short job is recorded
so many times in a fresh home, and every run is judged by those before it.
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
Shape = tuple[int, int]
"""Histories and the runs of each."""
Noise = Callable[[np.random.Generator, Shape, float], Floats]

WITHIN = 5
QUIET_RUNS = 30
LEVEL = 100.0
JOB = "import sys\nheld = bytearray(40 << 20)\nsum(n * n for n in range(3_000_000))\n"
KEYS = ("cpu_seconds", "memory_peak")


def gaussian(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw plain noise."""
    return draw.normal(0, deviation, shape)


def lognormal(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw noise with a long tail upwards, brought to the same deviation."""
    mean, spread = math.exp(0.32), math.sqrt((math.exp(0.64) - 1) * math.exp(0.64))
    return (draw.lognormal(0, 0.8, shape) - mean) / spread * deviation


def exponential(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw noise with a hard floor."""
    return (draw.exponential(1, shape) - 1) * deviation


def two_modes(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw from two equal humps, as of two kinds of hosts."""
    hump = np.where(draw.random(shape) < 0.5, -0.95, 0.95)
    return (hump + draw.normal(0, 0.3, shape)) * deviation


def uneven_modes(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw 7 of 10 from a low hump, the others from a high one."""
    hump = np.where(draw.random(shape) < 0.7, -0.65, 1.53)
    return (hump + draw.normal(0, 0.2, shape)) * deviation


def outliers(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw plain noise, and every twentieth run takes 20 to 100 % more."""
    return draw.normal(0, deviation, shape) + (draw.random(shape) < 0.05) * draw.uniform(0.2, 1, shape)


def uniform(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw noise without tails."""
    return draw.uniform(-1, 1, shape) * math.sqrt(3) * deviation


def student(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw noise with heavy tails both ways."""
    return draw.standard_t(3, shape) / math.sqrt(3) * deviation


def gamma(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw mildly skewed noise."""
    return (draw.gamma(2, 1, shape) - 2) / math.sqrt(2) * deviation


def whole_numbers(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw noise of a count near 40: steps of 2.5 %."""
    return np.round(draw.normal(0, deviation, shape) * 40) / 40


def neighbours(draw: np.random.Generator, shape: Shape, deviation: float) -> Floats:
    """Draw noise of which every run has 0.3 of the one before, as under a load that comes and goes."""
    fresh = draw.normal(0, deviation * math.sqrt(1 - 0.3**2), shape)
    fresh[:, 0] /= math.sqrt(1 - 0.3**2)
    for run in range(1, shape[1]):
        fresh[:, run] += 0.3 * fresh[:, run - 1]
    return fresh


def constant(_draw: np.random.Generator, shape: Shape, _deviation: float) -> Floats:
    """Draw nothing: all runs are equal."""
    return np.zeros(shape)


NOISES: dict[str, tuple[Noise, float]] = {
    "Gaussian": (gaussian, 0.05),
    "skewed (log-normal)": (lognormal, 0.05),
    "skewed (exponential)": (exponential, 0.05),
    "bimodal 50:50": (two_modes, 0.05),
    "bimodal 70:30": (uneven_modes, 0.05),
    "outliers, else 2 %": (outliers, 0.02),
    "outliers, else 5 %": (outliers, 0.05),
}


OTHERS: dict[str, tuple[Noise, float]] = {
    "uniform": (uniform, 0.05),
    "Student t, 3 degrees": (student, 0.05),
    "gamma, shape 2": (gamma, 0.05),
    "whole numbers near 40": (whole_numbers, 0.05),
    "all equal": (constant, 0.05),
    "autocorrelated, 0.3": (neighbours, 0.05),
}


def claims(values: Floats, begin: int) -> list[int]:
    """Name the runs from `begin` on after which a change for the worse is claimed."""
    judged = enumerate(regression.rulings(values.tolist()))
    return [place for place, ruling in judged if ruling.told is Told.WORSE and place >= begin]


def share_found(noise: tuple[Noise, float], step: float, *, cases: int, before: int) -> tuple[float, float]:
    """Give the percentage of steps found within five runs, and after how many runs half of them are."""
    make, deviation = noise
    histories = LEVEL * (1 + make(np.random.default_rng(11), (cases, before + WITHIN), deviation))
    histories[:, before:] *= 1 + step
    found = [claims(values, before) for values in histories]
    after = [places[0] - before + 1 if places else WITHIN + 1 for places in found]
    return 100 * sum(one <= WITHIN for one in after) / cases, float(np.median(after))


def false_claims(noise: tuple[Noise, float], *, cases: int, before: int) -> tuple[float, float]:
    """Give the claims per 100 runs of a job that did not change, and the standard error of that."""
    make, deviation = noise
    histories = LEVEL * (1 + make(np.random.default_rng(12), (cases, before + QUIET_RUNS), deviation))
    found = np.array([len(claims(values, before)) for values in histories]) * 100 / QUIET_RUNS
    return float(found.mean()), float(found.std(ddof=1) / math.sqrt(cases))


def simulate(args: argparse.Namespace) -> None:
    """Print the table."""
    steps = [float(step) for step in args.steps.split(",") if step]
    heads = [f"{step:g} % step claimed (median run)" for step in steps]
    print(f"| noise | {' | '.join([*heads, 'false claims per 100 runs'])} |")
    print("|---|" + "---:|" * (len(steps) + 1))
    for name, noise in (OTHERS if args.others else NOISES).items():
        cells = []
        for step in steps:
            share, usual = share_found(noise, step / 100, cases=args.cases, before=args.before)
            error = math.sqrt(share * (100 - share) / args.cases)
            cells.append(f"{share:.1f} ± {error:.1f} % ({usual:g})")
        wrong, error = false_claims(noise, cases=args.cases, before=args.before)
        print(f"| {' | '.join([name, *cells, f'{wrong:.2f} ± {error:.2f}'])} |", flush=True)


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
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--steps", default="10,25")
    parser.add_argument("--before", type=int, default=30)
    parser.add_argument("--others", action="store_true", help="kinds of noise on which nothing was tuned")
    parser.add_argument("--real", type=int, metavar="REPEATS")
    args = parser.parse_args()
    if args.real:
        record(args.real)
    else:
        simulate(args)


if __name__ == "__main__":
    main()
