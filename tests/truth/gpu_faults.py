"""On a machine with an NVIDIA GPU: are faults that are provoked for real named right by `jobmeter analyze`?

    PYTHONPATH=src python tests/truth/gpu_faults.py [--keep DIR] [FAULT ...]
    PYTHONPATH=src python tests/truth/gpu_faults.py --judge DIR/gpu_faults.tar

Needs torch and nvidia-ml-py; takes some 70 seconds. Prints one line per fault, `ok` or `FAIL`, what was said and
how long it took; the exit code is the number of failures. What analysis needs beyond that (apsw, msgspec) may be
missing where the GPU is: with `--keep` the runs are packed into one file, and `--judge` says elsewhere what they are.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKED = "gpu_faults.tar"
LONGEST_SECONDS = 60

# a training whose activations grow with the batch, until the card is full
OOM = """
import torch
weights = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16, requires_grad=True)
batch, held = 1 << 15, []
while True:
    out = torch.randn(batch, 8192, device="cuda", dtype=torch.bfloat16) @ weights
    held.append(out)
    torch.cuda.synchronize()
    print(f"batch {batch}: {torch.cuda.memory_allocated() / 2**30:.1f} GiB", flush=True)
    batch *= 2
"""
# the share of the card a process may use has a message of its own
FRACTION = """
import torch
torch.cuda.set_per_process_memory_fraction(0.02, 0)
held = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(64)]
"""
NEIGHBOUR = """
import sys, torch
free, total = torch.cuda.mem_get_info()
held = torch.ones(int(free * 0.75), dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
print("held", flush=True)
sys.stdin.read()
"""
# a real DataLoader that cannot make samples as fast as the card eats them
STARVED = """
import sys, time, torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self): return 1 << 20
    def __getitem__(self, index):
        until = time.process_time() + 0.03
        while time.process_time() < until: pass
        return torch.randn(3, 64, 64)

if __name__ == "__main__":
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 64 * 64, 512), torch.nn.ReLU(),
                                torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    one = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    out = torch.empty_like(one)
    end = time.monotonic() + float(sys.argv[1])
    for step, batch in enumerate(DataLoader(Slow(), batch_size=16, num_workers=1)):
        for _ in range(60): torch.mm(one, one, out=out)  # the rest of a model: 0.1 s of a step of 0.5 s
        loss = model(batch.cuda()).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        print(f"step {step} loss {loss.item():.4f}", flush=True)
        if time.monotonic() > end: break
"""
# the card is nearly full and always busy: nothing waits for data
BOUND = """
import sys, time, torch
free, total = torch.cuda.mem_get_info()
held = torch.ones(int(0.965 * total) - (total - free) - (1 << 30), dtype=torch.uint8, device="cuda")
one = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
out = torch.empty_like(one)
end, step = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    for _ in range(50): torch.mm(one, one, out=out)
    torch.cuda.synchronize()
    step += 1
    print(f"step {step} loss {1 / step:.4f}", flush=True)
"""
# a worker of a real DataLoader is killed, as the kernel does it for want of memory
WORKER = """
import os, signal, torch
from torch.utils.data import DataLoader, Dataset

class Fatal(Dataset):
    def __len__(self): return 256
    def __getitem__(self, index):
        if index == 40: os.kill(os.getpid(), signal.SIGKILL)
        return torch.ones(4)

if __name__ == "__main__":
    for batch in DataLoader(Fatal(), batch_size=8, num_workers=2): pass
"""
ASSERT = """
import torch
table = torch.randn(10, 4, device="cuda")
print(torch.nn.functional.embedding(torch.tensor([3, 12], device="cuda"), table).sum().item())
"""


@dataclass(frozen=True)
class Fault:
    """A job, and what has to be said of it."""

    script: str
    cause: str
    seconds: float | None = None
    finds: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    """What the message of the root error must have been read into."""
    neighbour: bool = False


FAULTS: dict[str, Fault] = {
    "data_starved": Fault(STARVED, "completed", seconds=23, finds=("gpu_starved",), never=("gpu_bound",)),
    "worker_killed": Fault(WORKER, "worker_killed", never=("gpu_starved",)),
    "cuda_oom_fraction": Fault(FRACTION, "oom_cuda", fields=("tried_bytes", "total_bytes", "allowed_bytes")),
    "device_assert": Fault(ASSERT, "exception"),
    "cuda_oom": Fault(OOM, "oom_cuda", fields=("tried_bytes", "total_bytes", "free_bytes", "gpu")),
    "gpu_full_and_busy": Fault(
        BOUND, "completed", seconds=8, finds=("gpu_memory_near_limit",), never=("gpu_starved", "stall")
    ),
    "cuda_oom_neighbour": Fault(OOM, "oom_cuda", fields=("tried_bytes", "total_bytes"), neighbour=True),
}
TOGETHER = (("data_starved", "worker_killed"), ("cuda_oom_fraction", "device_assert"), ("cuda_oom",),
            ("gpu_full_and_busy",))  # fmt: skip
"""What is provoked unless faults are named, in this order; those of a group do not disturb one another."""

failures = 0


def report(name: str, good: bool, said: str) -> None:
    """Print one line and count it."""
    global failures  # the exit code of a script
    failures += not good
    print(f"{'ok  ' if good else 'FAIL'} {name:<20} {said}", flush=True)


def environment(home: Path) -> dict[str, str]:
    """Give an environment in which this checkout's jobmeter keeps its runs in `home`."""
    paths = [str(ROOT / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "JOBMETER_HOME": str(home)}


class Neighbour:
    """A process of somebody else that holds most of the card."""

    def __enter__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", NEIGHBOUR], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def provoke(home: Path, name: str, fault: Fault) -> float:
    """Record one job that goes wrong; give the seconds it took."""
    began = time.monotonic()
    script = home / f"{name}.py"
    script.write_text(fault.script)
    words = ["run", "-q", "--capture", "all", "--sample-interval", "0.5", "--name", name, "--"]
    words += [sys.executable, str(script), *([] if fault.seconds is None else [str(fault.seconds)])]
    with Neighbour() if fault.neighbour else nullcontext():
        subprocess.run(
            [sys.executable, "-m", "jobmeter", *words],
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LONGEST_SECONDS,
            check=False,
        )
    return time.monotonic() - began


def runs(home: Path) -> dict[str, Path]:
    """Find the runs of a home by their names."""
    found = {}
    for folder in sorted(home.glob("runs/*/*")):
        first = json.loads((folder / "run.jsonl").read_text().splitlines()[0])
        found[first["name"]] = folder
    return found


def analysed(home: Path, folder: Path) -> dict[str, Any]:
    """Ask `jobmeter analyze` about a run."""
    done = subprocess.run(
        [sys.executable, "-m", "jobmeter", "analyze", str(folder), "--json"],
        env=environment(home),
        capture_output=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-600:].replace("\n", " | "))
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def judge(home: Path, name: str, fault: Fault, folder: Path) -> None:
    """Hold what is said of a run against what was done to it."""
    told = analysed(home, folder)
    verdict = told["verdict"]
    found = [one["detector"] for one in told["findings"]]
    fields = {key for error in told["log_errors"] for key in error.get("fields", {})}
    missing = [one for one in fault.finds if one not in found]
    missing += [one for one in fault.fields if one not in fields]
    wrong = [one for one in fault.never if one in found]
    good = verdict["cause"] == fault.cause and not missing and not wrong
    report(name, good, f"{verdict['cause']} {verdict['confidence']}: {verdict['sentence']}")
    print(f"     found {found}; missing {missing}, wrong {wrong}", flush=True)
    for error in told["log_errors"]:
        if not good or error.get("signature") == "cuda_oom":
            print(f"     {json.dumps(error.get('fields'))} {error['message'][:500]!r}", flush=True)


def can_analyse() -> bool:
    """Tell whether this Python has what analysis needs."""
    probe = subprocess.run(
        [sys.executable, "-c", "import apsw, msgspec, numpy"], check=False, capture_output=True
    )
    return probe.returncode == 0


def judge_all(home: Path, names: list[str]) -> None:
    """Judge every run; one that breaks does not stop the next."""
    folders = runs(home)
    for name in names or [name for name in FAULTS if name in folders]:
        try:
            judge(home, name, FAULTS[name], folders[name])
        except (RuntimeError, LookupError, ValueError, subprocess.TimeoutExpired) as error:
            report(name, False, f"{type(error).__name__}: {error}")


def provoke_all(home: Path, names: list[str]) -> None:
    """Record the faults, group by group: they share one card."""
    began = time.monotonic()
    for group in [(name,) for name in names] or TOGETHER:
        with ThreadPoolExecutor(len(group)) as pool:
            recordings = {name: pool.submit(provoke, home, name, FAULTS[name]) for name in group}
        for name, recording in recordings.items():
            try:
                took = recording.result()
            except subprocess.TimeoutExpired:
                report(name, False, f"did not end within {LONGEST_SECONDS} s")
                continue
            print(f"     {name} took {took:.1f} s, {time.monotonic() - began:.1f} s in all", flush=True)


def take(words: list[str], option: str) -> str | None:
    """Take the value of an option off the command line."""
    return words.pop(words.index(option) + 1) if option in words else None


def main(words: list[str]) -> int:
    """Provoke, keep and judge."""
    keep, packed = take(words, "--keep"), take(words, "--judge")
    names = [word for word in words if not word.startswith("--")]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        if packed is not None:
            with tarfile.open(packed) as archive:
                archive.extractall(folder, filter="data")
        else:
            provoke_all(home, names)
        if keep is not None:
            with tarfile.open(Path(keep) / PACKED, "w") as archive:
                archive.add(home / "runs", "home/runs")
        if not can_analyse():
            print("     this Python has no apsw or msgspec: judge elsewhere", flush=True)
            return failures
        judge_all(home, names)
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
