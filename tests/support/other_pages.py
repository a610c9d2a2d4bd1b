"""Runs for the pages beside the list and the run: trainings that differ, a job with a request, a campaign of builds."""

import subprocess
import sys
from pathlib import Path

from jobmeter.compat import campaign
from support import builds, commands

TRAINING = """
import math, sys, time
import jobmeter
lr, mebibytes = float(sys.argv[1]), int(sys.argv[2])
name = "adamw" if lr < 1e-3 else "sgd"
run = jobmeter.init(config={"lr": lr, "batch_size": 32, "optimizer": {"name": name}})
for step in range(120):
    run.log({"loss": 3 * math.exp(-step * lr * 20) + 0.2}, step=step)
    if step == 60:  # the second phase holds more
        held = bytearray(mebibytes << 20)
        for at in range(0, len(held), 4096):
            held[at] = 1
    time.sleep(0.012)
run.finish()
"""
JOB = """
import sys
held = bytearray(int(sys.argv[1]) << 20)
for at in range(0, len(held), 4096):
    held[at] = 1
"""
ALERTS = """
[rules.memory-above-20-mib]
key = "memory"
value = "20MiB"
for = "0s"
severity = "critical"
"""
SLURM = {
    "SLURM_JOB_ID": "1701",
    "SLURM_MEM_PER_NODE": "512",
    "SLURM_JOB_START_TIME": "1794736201",
    "SLURM_JOB_END_TIME": "1794739801",
}
QUICK = ("--sample-interval", "0.1s", "--report-interval", "0.1s")
SPARE_RUNS = 8


def record(home: Path, folder: Path) -> None:
    """Record all of it; what does not disturb another's numbers runs side by side."""
    training, job = folder / "train.py", folder / "fold.py"
    training.write_text(TRAINING)
    job.write_text(JOB)
    started = [
        start(home, "--name", name, *QUICK, "--", sys.executable, str(training), lr, mebibytes)
        for name, lr, mebibytes in (
            ("slow", "0.0005", "120"),
            ("middle", "0.001", "20"),
            ("fast", "0.004", "60"),
        )
    ]
    wait(started)
    wait([start(home, "--name", f"spare{number}", "--", "true") for number in range(SPARE_RUNS)])
    for mebibytes in ("40", "52"):
        words = ("--name", "fold", "--", sys.executable, str(job), mebibytes)
        wait([start(home, *words, environ=SLURM)])
    book(home)


def start(home: Path, *words: str, environ: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Begin to record a command."""
    command = [*commands.COMMAND, "run", "-q", *words]
    return subprocess.Popen(command, env=commands.environment(home, **environ or {}))


def wait(started: list[subprocess.Popen[bytes]]) -> None:
    """Wait until all of them ended well."""
    assert [one.wait(60) for one in started] == [0] * len(started)


def book(home: Path) -> None:
    """Book builds of two regions: one that became slower, one that fails now and then."""
    metrics = campaign.build_metrics(builds.samples())
    for number in range(18):
        working = (600 if number < 12 else 900) + 5 * (number % 3)
        _build(home, "us-west2", number, working=working, metrics=metrics)
    for number in range(6):
        _build(home, "europe-west4", number, working=500, metrics=None, failed=number == 4)


def _build(
    home: Path,
    region: str,
    number: int,
    *,
    working: int,
    metrics: dict[str, object] | None,
    failed: bool = False,
) -> None:
    campaign.record_build_result(
        region,
        not failed,
        build_id=f"{region}-{number}",
        queue_wait_seconds=120,
        working_seconds=working,
        spot_price_per_hour=6,
        error_message="Docker layer pull timeout" if failed else None,
        resource_metrics=metrics,
        path=home / "campaign_stats.json",
    )
