"""Record real jobs on a machine with pure cgroup v2 and compare with the kernel; standard library only.

    PYTHONPATH=src python3 tests/truth/v2_recording.py [oom]

Prints one PASS or FAIL line per promise and exits 1 if any failed. Needs root and a writable cgroup v2 tree. With `oom`
only the job that is killed for want of memory is recorded. What `jobmeter analyze` calls it is checked where this
Python has what reading needs (apsw, msgspec, numpy).
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
SOURCE = Path(__file__).resolve().parents[2] / "src"
NOBODY = 65534
STORM = """
import os, random, resource, time
random.seed(7)
for _ in range(400):
    pid = os.fork()
    if pid == 0:
        until = time.process_time() + random.uniform(0.005, 0.02)
        while time.process_time() < until: pass
        os._exit(0)
    os.waitpid(pid, 0)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
open("spent", "w").write(repr(sum(one.ru_utime + one.ru_stime for one in used)))
"""
HOLD = "import time; held = bytearray(b'x') * (300 << 20); time.sleep(1.5)"
SPIKE = "import time; held = bytearray(b'x') * (1536 << 20); time.sleep(0.15); del held; time.sleep(1)"
GREEDY = "held = [bytearray(b'x') * (32 << 20) for _ in range(20)]; print(len(held))"
failed: list[str] = []


def say(good: bool, text: str) -> None:
    print(("PASS " if good else "FAIL ") + text, flush=True)
    if not good:
        failed.append(text)


def record(home: str, *words: str, cgroup: Path | None = None, user: int | None = None) -> tuple[int, Path]:
    """Run jobmeter, in a cgroup or as a user; give its exit code and the run folder."""

    def prepare() -> None:
        if cgroup is not None:
            (cgroup / "cgroup.procs").write_text("0")
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)

    done = subprocess.run(
        [sys.executable, "-m", "jobmeter", "run", "-q", "--home", home, "--", *words],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "HOME": home},
        cwd=home,
        preexec_fn=prepare,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    return done.returncode, max(Path(home).glob("runs/*/*"), key=lambda folder: folder.stat().st_mtime)


def end_of(folder: Path) -> dict[str, dict[str, float]]:
    last: dict[str, dict[str, float]] = json.loads((folder / "run.jsonl").read_text().splitlines()[-1])
    return last


def check_cpu(home: str) -> None:
    _, folder = record(home, sys.executable, "-S", "-c", STORM)
    summary = end_of(folder)["summary"]
    own, waited = summary["cgroup_cputime"], summary["wait_cputime"]
    say(abs(own - waited) <= max(0.005 * own, 0.02), f"storm: own cgroup {own:.4f} s, wait {waited:.4f} s")


def check_cpu_unprivileged(home: str) -> None:
    _, folder = record(home, sys.executable, "-S", "-c", STORM, user=NOBODY)
    end = end_of(folder)
    waited = end["summary"]["wait_cputime"]
    spent = float(Path(home, "spent").read_text())  # the job's own account of itself and its children
    say("cgroup_cputime" not in end["summary"], "nobody has no own cgroup")
    say(
        abs(waited - spent) <= max(0.005 * spent, 0.02),
        f"storm as nobody: {waited:.4f} s, by the job {spent:.4f} s before it ended",
    )
    say("inexact" not in end, "a normal job carries no flag")


def check_memory(home: str) -> None:
    for name, code, size in (("300 MiB held", HOLD, 300 << 20), ("1.5 GiB for 150 ms", SPIKE, 1536 << 20)):
        _, folder = record(home, sys.executable, "-S", "-c", code)
        info = json.loads((folder / "info.json").read_text())
        peak = info["headline"]["memory_peak_bytes"]["value"]
        say(abs(peak - size) < 0.02 * size + (12 << 20), f"{name}: {peak / (1 << 20):.1f} MiB")


def check_oom_kill(home: str) -> None:
    parent = ROOT / f"truth-{os.getpid()}"
    parent.mkdir()
    (parent / "memory.max").write_text(str(256 << 20))
    (parent / "cgroup.subtree_control").write_text("+memory")
    leaf = parent / "leaf"
    leaf.mkdir()
    code, folder = record(home, sys.executable, "-S", "-c", GREEDY, cgroup=leaf)
    events = (folder / "events.jsonl").read_text() if (folder / "events.jsonl").exists() else ""
    kills = end_of(folder)["summary"].get("cgroup_oom_kill")
    say(code == 137, f"limited to 256 MiB: exit {code}")
    say(kills == 1 and '"oom_kill"' in events, f"OOM kill proven: cgroup_oom_kill {kills}, event written")
    say(not list(parent.glob("**/jobmeter-*")), "no cgroup left in the limited tree")
    check_verdict(home, folder, "oom_cgroup")
    leaf.rmdir()
    parent.rmdir()


def check_verdict(home: str, folder: Path, cause: str) -> None:
    if any(importlib.util.find_spec(name) is None for name in ("apsw", "msgspec", "numpy")):
        print("     this Python cannot read runs: no verdict")
        return
    done = subprocess.run(
        [sys.executable, "-m", "jobmeter", "analyze", "--home", home, str(folder), "--json"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        check=False,
    )
    verdict = json.loads(done.stdout)["verdict"] if done.returncode == 0 else {}
    said = verdict.get("sentence", done.stderr.decode()[-300:])
    say(verdict.get("cause") == cause, f"analyze says {verdict.get('cause')}: {said}")


def check_residue(home: str) -> None:
    for _ in range(200):
        record(home, "true")
    left = [str(path) for path in ROOT.glob("**/jobmeter-*")]
    say(not left, f"200 runs leave {len(left)} cgroups")


def main() -> int:
    """Run every check."""
    if not (ROOT / "cgroup.controllers").exists():
        print("FAIL not a pure cgroup v2 machine")
        return 1
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as other:
        os.chown(other, NOBODY, NOBODY)
        check_oom_kill(home)
        if sys.argv[1:] != ["oom"]:
            check_cpu(home)
            check_cpu_unprivileged(other)
            check_memory(home)
            check_residue(home)
    print(f"{'FAILED' if failed else 'passed'}: {len(failed)} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
