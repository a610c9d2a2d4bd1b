#!/usr/bin/env python3
"""Score jobmeter's live watch on the Numenta Anomaly Benchmark, beside what it must not lose to.

    python3 bench/nab.py [--corpus ../shared/corpus/nab] [--profile standard] [--json FILE]

The threshold of every detector is tuned on one half of the files (every second one by name, beginning with the
first) and then holds for the other half and for all. `halves changed` is the other way round. jobmeter is also
scored with the threshold it ships with. About 10 s; needs numpy and jobmeter's sources.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

import nab_rivals
import nab_score
from harness import tables
from nab_score import File, Floats, Weights

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from jobmeter.analysis import streaming  # noqa: E402  # found by the line above

_SEEDS = range(10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of the table."""

    detector: str
    threshold: float
    tuned: float
    held_out: float
    all_files: float
    found: float
    false_alarms: float
    changed: float
    """On the first half, with the threshold of the second."""
    own_kind: float
    """On the files of Amazon's CloudWatch, which are most like a job's."""


def measure(
    name: str, files: list[File], scores: list[Floats], weights: Weights, fixed: float | None = None
) -> Line:
    """Tune on one half and score both."""
    first, second = slice(0, None, 2), slice(1, None, 2)
    threshold = nab_score.tune(files[first], scores[first], weights) if fixed is None else fixed
    other = nab_score.tune(files[second], scores[second], weights) if fixed is None else fixed
    cloud = [place for place, file in enumerate(files) if file.name.startswith("realAWSCloudwatch")]
    whole = nab_score.judge(files, scores, threshold, weights)
    return Line(
        detector=name,
        threshold=threshold,
        tuned=nab_score.judge(files[first], scores[first], threshold, weights).score,
        held_out=nab_score.judge(files[second], scores[second], threshold, weights).score,
        all_files=whole.score,
        found=whole.found,
        false_alarms=whole.false_alarms,
        changed=nab_score.judge(files[first], scores[first], other, weights).score,
        own_kind=nab_score.judge(
            [files[place] for place in cloud], [scores[place] for place in cloud], threshold, weights
        ).score,
    )


def watch(values: Floats) -> Floats:
    """Score a series as a live alert would see it, value by value."""
    one = streaming.Watch()
    return np.array([one.update(value) for value in values.tolist()])


def by_chance(files: list[File], weights: Weights) -> Line:
    """Average the random detector over several seeds: one alone may be lucky."""
    lines = []
    for seed in _SEEDS:
        draw = np.random.default_rng(seed)
        scores = [nab_rivals.chance(file.values, draw) for file in files]
        lines.append(measure("random", files, scores, weights))
    means = {
        name: fmean(getattr(line, name) for line in lines)
        for name in (
            "threshold",
            "tuned",
            "held_out",
            "all_files",
            "found",
            "false_alarms",
            "changed",
            "own_kind",
        )
    }
    return Line(detector=f"random, mean of {len(lines)}", **means)


def table(files: list[File], weights: Weights) -> list[Line]:
    """Measure everybody."""
    watched = [watch(file.values) for file in files]
    rivals = {
        "seed 000's percent rule": nab_rivals.percent_rule,
        "windowed Gaussian": nab_rivals.windowed_gaussian,
    }
    return [
        measure("null", files, [nab_rivals.null(file.values) for file in files], weights),
        by_chance(files, weights),
        *(
            measure(name, files, [score(file.values) for file in files], weights)
            for name, score in rivals.items()
        ),
        measure("jobmeter", files, watched, weights),
        measure("jobmeter as shipped", files, watched, weights, fixed=streaming.ALARM),
    ]


def render(title: str, lines: list[Line]) -> str:
    """Lay the table out."""
    header = ("detector", "threshold", "tuned half", "held-out half", "all files", "found", "false alarms")
    rows = [
        (
            one.detector,
            f"{one.threshold:.4g}",
            *(f"{score:.1f}" for score in (one.tuned, one.held_out, one.all_files)),
            *(f"{count:.0f}" for count in (one.found, one.false_alarms)),
            *(f"{score:.1f}" for score in (one.changed, one.own_kind)),
        )
        for one in lines
    ]
    return tables.table(title, (*header, "halves changed", "CloudWatch"), rows)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, default=ROOT / ".." / "shared" / "corpus" / "nab")
    parser.add_argument("--profile", default="standard")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    weights = nab_score.read_weights(asked.corpus, asked.profile)
    files = nab_score.read_files(asked.corpus, weights)
    lines = table(files, weights)
    windows = sum(file.windows for file in files)
    print(render(f"NAB: {len(files)} files, {windows} windows, profile {asked.profile}", lines))
    if asked.json:
        records = [{name: getattr(one, name) for name in Line.__slots__} for one in lines]
        asked.json.write_text(json.dumps(records, indent=1, allow_nan=True) + "\n")


if __name__ == "__main__":
    main()
