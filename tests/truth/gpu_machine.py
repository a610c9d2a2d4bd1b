"""On a machine with an NVIDIA GPU: does what jobmeter records agree with nvidia-smi and torch, and what does it cost?

    PYTHONPATH=src python tests/truth/gpu_machine.py [values] [sdk] [helper] [overhead]

Needs torch and nvidia-ml-py; takes some six minutes, five of them for `overhead`. Prints one line per check,
`ok` or `FAIL`, its name and the figures; the exit code is the number of failures. Nothing but files is read of what
jobmeter wrote.
"""

import contextlib
import itertools
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TRAINING = Path(__file__).with_name("gpu_training.py")
TOLERANCE = 0.05
WINDOWS, WINDOW_SECONDS, WARM_SECONDS = 20, 15.0, 3.0
STUDENT_T = {9: 2.262, 4: 2.776, 1: 12.706}
SMI_COLUMNS = ("util", "mem_used", "power", "temp")
SMI = ["nvidia-smi", "--query-gpu=utilization.gpu,memory.used,power.draw,temperature.gpu",
       "--format=csv,noheader,nounits", "-lms", "500"]  # fmt: skip

failures = 0


def report(name: str, good: bool, figures: str) -> None:
    """Print one check and count it."""
    global failures  # the exit code of a script
    failures += not good
    print(f"{'ok  ' if good else 'FAIL'} {name:<28} {figures}", flush=True)


def agree(
    name: str, ours: float | None, theirs: float | None, unit: str, tolerance: float = TOLERANCE
) -> None:
    """Check that two figures are the same within the tolerance."""
    if ours is None or theirs is None or not theirs:
        report(name, False, f"jobmeter {ours}, reference {theirs} {unit}")
        return
    off = ours / theirs - 1
    report(
        name,
        abs(off) <= tolerance,
        f"jobmeter {ours:.6g} {unit}, reference {theirs:.6g} ({100 * off:+.2f} %)",
    )


def environment(home: Path) -> dict[str, str]:
    """Give an environment in which this checkout's jobmeter records into `home`."""
    paths = [str(ROOT / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "JOBMETER_HOME": str(home)}


def jobmeter(*words: str) -> list[str]:
    """Give the command line of a jobmeter command."""
    return [sys.executable, "-m", "jobmeter", *words]


def lines(path: Path) -> list[dict[str, Any]]:
    """Read whole JSON lines; the last may be on its way."""
    found = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return [record for record in found if isinstance(record, dict)]


def only_run(home: Path) -> Path:
    """Find the newest run of a home."""
    return max(home.glob("runs/*/*"), key=lambda folder: folder.name)


def series(folder: Path, key: str) -> list[tuple[float, float]]:
    """Give moment and value of a key of one device or of the job."""
    found = []
    for line in lines(folder / "usage.jsonl"):
        value = line.get("measurements", {}).get(key)
        if isinstance(value, dict):
            value = next(iter(value.values()), None)
        span = line.get("clock", {}).get(key.partition("_")[0])
        if value is not None and span is not None:
            found.append((float(span[1]), float(value)))
    return found


def mean_of(points: list[tuple[float, float]], begin: float, end: float) -> float | None:
    """Average what lies between two moments."""
    chosen = [value for at, value in points if begin <= at <= end]
    return statistics.fmean(chosen) if chosen else None


class Smi:
    """nvidia-smi sampling beside us, each row stamped when it arrives."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, dict[str, float]]] = []
        self._process = subprocess.Popen(SMI, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):
                cells = [float(cell) for cell in line.split(",")]
                self.rows.append((time.monotonic(), dict(zip(SMI_COLUMNS, cells, strict=True))))

    def column(self, name: str) -> list[tuple[float, float]]:
        """Give one column by moment."""
        return [(at, row[name]) for at, row in self.rows]

    def close(self) -> None:
        """Stop sampling."""
        self._process.kill()
        self._process.wait()


def compare(name: str, folder: Path, smi: Smi, facts: dict[str, Any]) -> None:
    """Hold what was recorded against nvidia-smi over the steady part, and against torch."""
    begin, end = facts["steady"] + 2.0, facts["ended"]
    for key, column, unit, scale in (
        ("nvml_util", "util", "%", 1.0),
        ("nvml_mem_used", "mem_used", "B", float(1 << 20)),
        ("nvml_power", "power", "W", 1.0),
        ("nvml_temp", "temp", "C", 1.0),
    ):
        theirs = mean_of(smi.column(column), begin, end)
        agree(f"{name} {key}", mean_of(series(folder, key), begin, end), theirs and theirs * scale, unit)
    compare_energy(name, folder, smi, facts)
    if facts["context"] is None:
        report(f"{name} memory by torch", False, "the driver did not tell what the process holds")
        return
    peak = max((value for _, value in series(folder, "nvml_proc_mem_total")), default=None)
    agree(f"{name} memory by torch", peak, facts["reserved"] + facts["context"], "B")


def compare_energy(name: str, folder: Path, smi: Smi, facts: dict[str, Any]) -> None:
    """Hold the energy of whole windows against the driver's counter and against nvidia-smi's power over time."""
    windows = [
        (line["clock"]["nvml"], next(iter(line["measurements"]["nvml_energy"].values())))
        for line in lines(folder / "usage.jsonl")
        if "nvml_energy" in line.get("measurements", {})
    ]
    inside = [
        (span, joules) for span, joules in windows if span[0] >= facts["steady"] and span[1] <= facts["ended"]
    ]
    if not inside:
        report(f"{name} energy", False, f"{len(windows)} windows, none in the steady part")
        return
    seconds = inside[-1][0][1] - inside[0][0][0]
    watts = sum(joules for _, joules in inside) / seconds
    agree(f"{name} energy by counter", watts, facts["energy"] / (facts["ended"] - facts["steady"]), "J/s")
    agree(
        f"{name} energy by smi", watts, mean_of(smi.column("power"), inside[0][0][0], inside[-1][0][1]), "J/s"
    )


def check_values(folder: Path) -> None:
    """A training run under `jobmeter run`."""
    home, told = folder / "values", folder / "values.json"
    smi = Smi()
    command = jobmeter("run", "--", sys.executable, str(TRAINING), "9", str(told))
    ran = subprocess.run(command, env=environment(home), capture_output=True, text=True, check=False)
    smi.close()
    if ran.returncode:
        report("run training", False, ran.stderr[-600:].replace("\n", " | "))
        return
    facts, run = json.loads(told.read_text()), only_run(home)
    end = next(record for record in lines(run / "run.jsonl") if record["type"] == "end")
    report(
        "run training",
        end["status"] == "completed",
        f"{facts['steps']} steps; {json.dumps(end.get('sources'))}",
    )
    for line in ran.stderr.splitlines():
        print("     " + line)
    compare("run", run, smi, facts)
    gpu = {key: value for key, value in end["summary"].items() if key.startswith(("nvml_", "rapl_"))}
    print("     summary " + json.dumps(gpu), flush=True)
    print("     inexact " + json.dumps(end.get("inexact", {})), flush=True)


def check_sdk(folder: Path) -> None:
    """The same training with `jobmeter.init()` and no `jobmeter run`."""
    home, told = folder / "sdk", folder / "sdk.json"
    smi = Smi()
    command = [sys.executable, str(TRAINING), "9", str(told), "sdk"]
    ran = subprocess.run(command, env=environment(home), capture_output=True, text=True, check=False)
    smi.close()
    if ran.returncode:
        report("sdk training", False, ran.stderr[-600:].replace("\n", " | "))
        return
    facts = json.loads(told.read_text())
    run = Path(facts["folder"])
    logged = b"".join(path.read_bytes() for path in run.glob("steps*.jsonl")).count(b'"loss"')
    report("sdk training", logged == facts["steps"] // 10, f"{facts['steps']} steps, {logged} logged")
    compare("sdk", run, smi, facts)


def helpers(recorder: int) -> list[int]:
    """List the GPU helpers of a recorder."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == recorder and b"gpu_helper" in (stat.parent / "cmdline").read_bytes():
                found.append(int(stat.parent.name))
    return found


def await_(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait until a condition holds; None where it never does."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    return None


@contextlib.contextmanager
def recording(home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Record something that sleeps, every GPU of the machine with it."""
    command = jobmeter("run", "-q", "--gpus", "all", "--sample-interval", "0.2", "--", "sleep", "60")
    process = subprocess.Popen(command, env=environment(home))
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def check_helper(folder: Path) -> None:
    """A helper that hangs, one that is killed, and a recorder that is."""
    home = folder / "helper"
    with recording(home) as process:
        first = await_(
            lambda: helpers(process.pid) and any(home.glob("runs/*/*/usage.jsonl")) and helpers(process.pid)
        )
        values = await_(lambda: len(series(only_run(home), "nvml_mem_used")) > 10)
        report("helper starts", bool(values), f"pid {first}")
        check_cost(first[0])
        check_hang(process.pid, home, first[0])
        check_killed_helper(process.pid, home)
    check_killed_recorder(folder / "killed")


def check_cost(pid: int) -> None:
    """What the helper itself uses."""

    def used() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before, began = used(), time.monotonic()
    time.sleep(3)
    share = 100 * (used() - before) / (time.monotonic() - began)
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    report("helper cost at 5 Hz", share < 5, f"{share:.2f} % of a core, {resident:.0f} MB")


def check_hang(recorder: int, home: Path, helper: int) -> None:
    """Samples keep their cadence while the helper stands still; it is given up, told, and started again."""
    run = only_run(home)
    stopped = time.monotonic()
    os.kill(helper, signal.SIGSTOP)
    failed = await_(
        lambda: [event for event in lines(run / "events.jsonl") if event["type"] == "source_failed"]
    )
    moments = [at for at, _ in series(run, "proc_count") if at >= stopped]
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    stale = [at for at, _ in series(run, "nvml_mem_used") if at > stopped + 1]
    report(
        "hang costs no sample",
        bool(gaps) and max(gaps) < 0.4,
        f"{len(gaps)} gaps, longest {max(gaps, default=math.inf):.3f} s",
    )
    report("hang is not repeated", not stale, f"{len(stale)} readings while it stood still")
    report("hang is told", bool(failed), json.dumps(failed and failed[0]["details"]))
    again = await_(lambda: [pid for pid in helpers(recorder) if pid != helper])
    back = await_(lambda: [at for at, _ in series(run, "nvml_mem_used") if at > stopped + 3], 20)
    report("helper starts again", bool(again) and bool(back), f"after {time.monotonic() - stopped:.1f} s")


def check_killed_helper(recorder: int, home: Path) -> None:
    """A helper that is killed is replaced."""
    run = only_run(home)
    killed = time.monotonic()
    os.kill(helpers(recorder)[0], signal.SIGKILL)
    back = await_(lambda: [at for at, _ in series(run, "nvml_mem_used") if at > killed + 1], 30)
    report("killed helper is replaced", bool(back), f"after {time.monotonic() - killed:.1f} s")


def check_killed_recorder(home: Path) -> None:
    """The helper does not outlive its recorder."""
    with recording(home) as process:
        found = await_(lambda: helpers(process.pid))
        sleeper = await_(lambda: any(home.glob("runs/*/*/usage.jsonl")))
        process.kill()
        gone = await_(lambda: not Path(f"/proc/{found[0]}/exe").exists(), 5)
        report("helper ends with recorder", bool(gone) and bool(sleeper), f"pid {found}")


def _window(training_loop: Any, home: Path, *, recorded: bool) -> float:
    """Time the steps of one window, with or without a recorder on this process."""
    if not recorded:
        return float(training_loop.step_seconds(WINDOW_SECONDS))
    recorder = subprocess.Popen(jobmeter("attach", "-q", str(os.getpid())), env=environment(home))
    try:
        return float(training_loop.step_seconds(WINDOW_SECONDS))
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.wait()


def check_overhead(folder: Path) -> None:
    """Step time with and without a recorder attached to this very process, in alternating windows."""
    from gpu_training import Training

    home = folder / "overhead"
    training_loop = Training()
    training_loop.step_seconds(WARM_SECONDS)
    slowdowns: list[float] = []
    for pair in range(WINDOWS // 2):
        # the machine drifts: what comes first changes from pair to pair
        order = (False, True) if pair % 2 == 0 else (True, False)
        took = {recorded: _window(training_loop, home, recorded=recorded) for recorded in order}
        slowdowns.append(100 * (took[True] / took[False] - 1))
        print(
            f"     {1000 * took[False]:.3f} ms without, {1000 * took[True]:.3f} ms with: {slowdowns[-1]:+.2f} %",
            flush=True,
        )
    mean = statistics.fmean(slowdowns)
    half = STUDENT_T.get(len(slowdowns) - 1, 2.262) * statistics.stdev(slowdowns) / math.sqrt(len(slowdowns))
    folders = list(home.glob("runs/*/*"))
    read = sum(bool(series(run, "nvml_util")) for run in folders)
    report(
        "overhead was recorded",
        read == len(slowdowns),
        f"{read} of {len(slowdowns)} windows hold GPU readings",
    )
    report(
        "slowdown below 1 %",
        mean + half < 1,
        f"{mean:+.3f} % [{mean - half:+.3f}, {mean + half:+.3f}] at 95 %",
    )


CHECKS: dict[str, Callable[[Path], None]] = {
    "values": check_values,
    "sdk": check_sdk,
    "helper": check_helper,
    "overhead": check_overhead,
}


def main(names: list[str]) -> int:
    """Run the checks named, or all; one that breaks does not stop the next."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name in names or CHECKS:
            try:
                CHECKS[name](Path(folder))
            except Exception as error:  # noqa: BLE001  # every check stands alone
                report(name, False, f"{type(error).__name__}: {error}")
            print(f"     {name} done at {time.monotonic() - began:.0f} s", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
