"""Record a real job and compare what was recorded with what the kernel told the job itself."""

import subprocess
import sys
import tempfile
from pathlib import Path

from jobmeter.runfolder import reader
from jobmeter.service import indexing
from jobmeter.service.doctor import Finding, Place, fail, ok, warn

TIMEOUT_SECONDS = 30.0
TOLERANCE_SECONDS = 0.03
TOLERANCE_SHARE = 0.02

_JOB = """
import os, resource, sys, time
child = os.fork()
if child == 0:
    while time.process_time() < 1.0: pass
    os._exit(0)
os.waitpid(child, 0)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(one.ru_utime + one.ru_stime for one in used))
"""


def check_measured_job(_: Place) -> Finding:
    """Measure a busy loop of one second, in a home of its own."""
    with tempfile.TemporaryDirectory(prefix="jobmeter-doctor-") as home:
        recording = [sys.executable, "-m", "jobmeter", "run", "--home", home, "--quiet", "--"]
        # without site: what others start with the interpreter, and end after the job has counted, is not the job
        command = [*recording, sys.executable, "-I", "-S", "-c", _JOB]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return fail(f"a job of one second did not end within {TIMEOUT_SECONDS:.0f} s")
        if done.returncode != 0:
            return fail(
                f"recording a job failed with exit code {done.returncode}: {done.stderr.strip()[-200:]}"
            )
        return compare(home, float(done.stdout))


def compare(home: str, true_seconds: float) -> Finding:
    """Hold the one run of a home against the CPU seconds its job counted itself."""
    folders = [records.parent for records in Path(home).glob("runs/*/*/run.jsonl")]
    if len(folders) != 1:
        return fail(f"the recorded job left {len(folders)} run folders instead of one")
    run = indexing.with_headline(reader.read_run(folders[0]))
    cpu = run.headline.get("cpu_seconds")
    if cpu is None:
        return fail("the recorded job has no CPU time")
    difference = cpu.value - true_seconds
    told = f"recorded {cpu.value:.3f} s of CPU by {', '.join(cpu.keys)}, the job counted {true_seconds:.3f} s"
    if abs(difference) > max(TOLERANCE_SECONDS, TOLERANCE_SHARE * true_seconds):
        return warn(told) if difference > 0 else fail(told)
    return ok(told)
