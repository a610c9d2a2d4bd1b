#!/usr/bin/env python3
"""Try advice for real: run a stock Hugging Face Trainer, apply what jobmeter advises, run again, compare.

    .venv/bin/python bench/advice.py [TRIAL ...] [--json FILE]

Run as root on Linux with memory cgroups of version 1, in an environment with jobmeter; the training itself runs in
`.venv-frameworks` (docs/frameworks.md). Every trial has a home of its own, runs until one rule speaks, writes the
advised config by `jobmeter analyze --apply` and runs that; requests are set as a limit of the next run. The table
says what was predicted, what came, and how far off it was; a miss is off by more than a fifth.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness import cgroups

ROOT = Path(__file__).resolve().parent.parent
TRAINER = Path(__file__).resolve().parent / "workloads" / "trainer.py"
PYTHON = ROOT / ".venv-frameworks" / "bin" / "python"
GOOD = 20.0
MIB = 1 << 20

CONFIG = """\
# a small GPT-2, as its author left it
model:
  vocab_size: 1000
  n_positions: 128
  n_embd: {width}
  n_layer: {layers}
  n_head: 4
training:
  max_steps: {steps}
  per_device_train_batch_size: {batch}   # what fits
  dataloader_num_workers: {workers}      # processes that load
  dataloader_prefetch_factor: {prefetch}
  gradient_checkpointing: {checkpointing}
  learning_rate: 0.001
data:
  words: 1000
  length: 128
  samples: 4096
  sample_seconds: {sample_seconds}
  slow_every: {slow_every}
  slow_seconds: {slow_seconds}
  kept_mib: {kept_mib}
"""
DEFAULTS: dict[str, object] = {
    "layers": 4, "width": 128, "steps": 24, "batch": 8, "workers": 0, "prefetch": "null", "checkpointing": "false",
    "sample_seconds": 0, "slow_every": 0, "slow_seconds": 0, "kept_mib": 0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One number that was predicted and came."""

    trial: str
    rule: str
    change: str
    quantity: str
    before: float
    predicted: float
    low: float
    high: float
    actual: float

    @property
    def off_percent(self) -> float:
        """Give how far the prediction was off."""
        return 100 * (self.predicted / self.actual - 1)

    @property
    def is_miss(self) -> bool:
        """Tell whether it was off by more than a fifth."""
        return abs(self.off_percent) > GOOD


@dataclass(slots=True)
class Desk:
    """One trial: a home, a folder of configs, and what its runs are limited to."""

    folder: Path
    runs: int = 0
    limit_bytes: int | None = None
    environ: dict[str, str] = field(default_factory=dict)
    cores: str | None = None

    def config(self, **changes: object) -> Path:
        """Write a config."""
        path = self.folder / f"config{self.runs}.yaml"
        path.write_text(CONFIG.format(**(DEFAULTS | changes)))
        return path

    def jobmeter(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a jobmeter command on this trial's home."""
        command = [sys.executable, "-m", "jobmeter", *words]
        return subprocess.run(command, env=self._environ(), capture_output=True, text=True, check=False)

    def _environ(self) -> dict[str, str]:
        base = {"JOBMETER_HOME": str(self.folder / "home"), "PYTHONPATH": str(ROOT / "src")}
        offline = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        return os.environ | base | offline | self.environ

    def train(self, config: Path) -> dict[str, Any]:
        """Train under the recorder; give what `show --json` says, and the mean step."""
        self.runs += 1
        # before everything else: what other work the machine has must not decide how long a step takes
        pinned = ["chrt", "-r", "1", *(["taskset", "-c", self.cores] if self.cores else [])]
        words = ["run", "-q", "--sample-interval", "0.25", "--", *pinned, str(PYTHON), str(TRAINER)]
        with limited(self.limit_bytes):
            done = self.jobmeter(*words, str(config), str(self.folder / "out"))
        if done.returncode:
            raise RuntimeError(f"training failed: {done.stderr[-1500:]}")
        shown: dict[str, Any] = json.loads(self.jobmeter("show", "last", "--json").stdout)
        shown["step_seconds"] = mean_step(Path(shown["folder"]))
        peak = shown["headline"]["memory_peak_bytes"]["value"]
        print(
            f"     run {self.runs}: {shown['wall_seconds']:.1f} s, peak {peak / MIB:.0f} MiB, "
            f"step {1000 * shown['step_seconds']:.0f} ms",
            file=sys.stderr,
            flush=True,
        )
        return shown

    def advice(self, rule: str) -> dict[str, Any]:
        """Ask for the advice of one rule on the last run."""
        said: dict[str, Any] = json.loads(self.jobmeter("analyze", "last", "--json").stdout)
        for advice in said["recommendations"]:
            if advice["rule"] == rule:
                found: dict[str, Any] = advice
                return found
        raise RuntimeError(f"{rule} is silent: {json.dumps(said['recommendations'])[:1500]}")

    def applied(self, config: Path, rule: str) -> Path:
        """Write the advised config."""
        new = self.folder / f"advised_{rule}.yaml"
        done = self.jobmeter("analyze", "last", "--apply", str(config), "-o", str(new), "--only", rule)
        if done.returncode:
            raise RuntimeError(f"--apply failed: {done.stderr}")
        return new


@contextmanager
def limited(limit_bytes: int | None) -> Iterator[None]:
    """Run what is started meanwhile in a cgroup with so much memory."""
    if limit_bytes is None:
        yield
        return
    home = cgroups.current("memory")
    folder = home / f"jobmeter-advice-{os.getpid()}"
    folder.mkdir()
    cgroups.write(folder / "memory.limit_in_bytes", str(limit_bytes))
    cgroups.write(folder / "cgroup.procs", str(os.getpid()))
    try:
        yield
    finally:
        cgroups.write(home / "cgroup.procs", str(os.getpid()))
        folder.rmdir()


def mean_step(folder: Path) -> float:
    """Average the time of a step as the training told it, the first three left out."""
    told: list[float] = []
    for line in (folder / "steps.jsonl").read_bytes().split(b"\n"):
        if line.startswith(b"{"):
            told += [json.loads(line)["metrics"].get("step_seconds", -1.0)]
    times = [seconds for seconds in told if seconds >= 0][3:]
    return sum(times) / len(times)


def actual(shown: dict[str, Any], quantity: str) -> float:
    """Give what a run came to, by the name a prediction has for it."""
    if quantity in shown["headline"]:
        return float(shown["headline"][quantity]["value"])
    if quantity == "memory_limit_bytes":
        return float(shown["limits"]["memory_bytes"])
    return float(shown[quantity])


def rows(trial: str, advice: dict[str, Any], shown: dict[str, Any]) -> list[Row]:
    """Set what was predicted beside what came."""
    change = f"{advice['config_path']}: {advice['current_value']} -> {advice['recommended_value']}"
    return [
        Row(
            trial=trial,
            rule=advice["rule"],
            change=change,
            quantity=one["quantity"],
            before=one["before"],
            predicted=one["after"],
            low=one["low"],
            high=one["high"],
            actual=actual(shown, one["quantity"]),
        )
        for one in advice["predicted"]
        if one["quantity"] != "memory_limit_bytes"
    ]


def _try(desk: Desk, trial: str, rule: str, config: Path) -> list[Row]:
    advice = desk.advice(rule)
    return rows(trial, advice, desk.train(desk.applied(config, rule)))


def more_workers(desk: Desk) -> list[Row]:
    """Samples that have to be waited for, loaded by the training itself."""
    config = desk.config(sample_seconds=0.03, steps=30)
    desk.train(config)
    return _try(desk, "num_workers (more)", "more_workers", config)


def fewer_workers(desk: Desk) -> list[Row]:
    """Workers that keep much, in a limit that is almost reached."""
    config = desk.config(workers=2, kept_mib=400, steps=16, sample_seconds=0.01)
    shown = desk.train(config)
    desk.limit_bytes = int(actual(shown, "memory_peak_bytes") / 0.93)
    desk.train(config)
    return _try(desk, "num_workers (fewer)", "num_workers", config)


def prefetch(desk: Desk) -> list[Row]:
    """A sample now and then that takes long."""
    config = desk.config(workers=1, prefetch=2, slow_every=96, slow_seconds=2.5, steps=60, layers=2)
    desk.train(config)
    return _try(desk, "prefetch", "prefetch", config)


def larger_batch(desk: Desk) -> list[Row]:
    """Two batch sizes, then twice the larger one."""
    desk.train(desk.config(batch=8, steps=6))
    config = desk.config(batch=16, steps=6)
    desk.train(config)
    return _try(desk, "batch size", "larger_batch", config)


def smaller_batch(desk: Desk) -> list[Row]:
    """Two batch sizes, the larger in a limit that is almost reached."""
    desk.train(desk.config(batch=12, steps=6))
    config = desk.config(batch=32, steps=6)
    shown = desk.train(config)
    desk.limit_bytes = int(actual(shown, "memory_peak_bytes") / 0.93)
    desk.train(config)
    return _try(desk, "batch size (less)", "batch_size", config)


def checkpointing_on(desk: Desk) -> list[Row]:
    """Two batch sizes, the larger in a limit that is tight."""
    desk.train(desk.config(batch=8, steps=6, layers=6, width=192))
    config = desk.config(batch=20, steps=6, layers=6, width=192)
    shown = desk.train(config)
    desk.limit_bytes = int(actual(shown, "memory_peak_bytes") / 0.88)
    desk.train(config)
    return _try(desk, "gradient checkpointing on", "gradient_checkpointing", config)


def checkpointing_off(desk: Desk) -> list[Row]:
    """Two batch sizes with checkpointing, and room to spare."""
    desk.train(desk.config(batch=8, steps=20, layers=6, width=192, checkpointing="true"))
    config = desk.config(batch=20, steps=20, layers=6, width=192, checkpointing="true")
    desk.train(config)
    return _try(desk, "gradient checkpointing off", "no_checkpointing", config)


def memory(desk: Desk) -> list[Row]:
    """Far more memory than is needed, twice; then what is advised."""
    config = desk.config(steps=10)
    desk.limit_bytes = 8 << 30
    desk.train(config)
    desk.train(config)
    advice = desk.advice("memory_request")
    desk.limit_bytes = int(advice["recommended_value"].removesuffix("M")) * MIB
    return rows("--mem", advice, desk.train(config))


def cpus(desk: Desk) -> list[Row]:
    """Two cores for a training that uses one; then one."""
    config = desk.config(steps=40)
    desk.environ = {"SLURM_JOB_ID": "1", "SLURM_CPUS_PER_TASK": "2"}
    desk.train(config)
    advice = desk.advice("cpus_request")
    desk.environ["SLURM_CPUS_PER_TASK"] = str(advice["recommended_value"])
    desk.cores = "0"
    return rows("--cpus", advice, desk.train(config))


TRIALS: dict[str, Callable[[Desk], list[Row]]] = {
    "more_workers": more_workers,
    "fewer_workers": fewer_workers,
    "prefetch": prefetch,
    "larger_batch": larger_batch,
    "smaller_batch": smaller_batch,
    "checkpointing_on": checkpointing_on,
    "checkpointing_off": checkpointing_off,
    "memory": memory,
    "cpus": cpus,
}


def written(row: Row, value: float) -> str:
    """Render a value."""
    return f"{value / MIB:.0f} MiB" if row.quantity.endswith("_bytes") else f"{value:.3g} s"


def table(found: list[Row]) -> str:
    """Lay the rows out as Markdown."""
    lines = [
        "| advice | change | number | before | predicted (interval) | actual | off |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found:
        interval = f"{written(row, row.predicted)} ({written(row, row.low)} to {written(row, row.high)})"
        miss = " **miss**" if row.is_miss else "" if row.low <= row.actual <= row.high else " (outside)"
        lines.append(
            f"| {row.trial} | `{row.change}` | {row.quantity} | {written(row, row.before)} | {interval} | "
            f"{written(row, row.actual)} | {row.off_percent:+.1f} %{miss} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Try what is asked for; the exit code is the number of misses and of trials that broke."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"of {', '.join(TRIALS)}; all without any")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    found: list[Row] = []
    broken = 0
    for name in args.trials or TRIALS:
        print(f"     {name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                found += TRIALS[name](Desk(Path(folder)))
            except RuntimeError as error:
                broken += 1
                print(f"FAIL {name}: {error}", file=sys.stderr, flush=True)
    print(table(found))
    if args.json:
        Path(args.json).write_text(json.dumps([asdict(row) for row in found], indent=2))
    return broken + sum(row.is_miss for row in found)


if __name__ == "__main__":
    sys.exit(main())
