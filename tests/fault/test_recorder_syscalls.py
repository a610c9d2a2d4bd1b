"""Fail the Nth call of the recorder, for every N until it runs clean: the job keeps its exit code and output."""

import errno
import random
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.recorder import Home, events, lines, merged

JOB = "import os, sys, time\nprint('begun', flush=True)\ntime.sleep(0.12)\nprint('ended', flush=True)\nsys.exit(7)"
MARGIN = 10
"""So many more calls than in one recording may come in another: how often is sampled, the machine decides."""


class Broken:
    """One recording in which one call of the recorder failed; the job itself is not traced."""

    def __init__(self, folder: Path, call: str, error: str, when: str) -> None:
        folder.mkdir()
        self.home = Home(folder / "home", traced=False)
        self.log = folder / "trace"
        output = folder / "output"
        inject = ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={when}"]
        words = ["-q", "--sample-interval", "0.03", sys.executable, "-S", "-c", JOB]
        with output.open("wb") as file:
            process = self.home.start(*words, before=["strace", "-o", str(self.log), *inject], stdout=file)
        done = self.home.finish(process, 20)
        self.code, self.stderr, self.output = done.code, done.stderr.decode(), output.read_bytes()
        trace = self.log.read_text()
        self.injected = "(INJECTED)" in trace
        self.calls = sum(line.startswith(f"{call}(") for line in trace.splitlines())
        self.what = f"{call} {error} at call {when}"

    def check(self) -> None:
        """The job was not started and that is said, or it ran whole with its exit code; nothing is torn."""
        if not self.output:
            assert self.code in (1, 125), self.what
        else:
            assert self.output == b"begun\nended\n", self.what
            assert self.code == 7, f"{self.what}: {self.code} {self.stderr}"
            # the interpreter itself speaks when its own wake-up is refused, which a pipe never does
            assert "wakeup fd" in self.stderr or "Traceback" not in self.stderr, f"{self.what}: {self.stderr}"
        for folder in self.home.folders():
            for name in ("run.jsonl", "usage.jsonl", "events.jsonl", "output.index"):
                lines(folder / name)


def break_each(folder: Path, call: str, error: str, moments: Iterable[str]) -> list[Broken]:
    """Break one recording per moment, two at a time, and check each."""
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda moment: Broken(folder / moment, call, error, moment), moments))
    for broken in found:
        broken.check()
    return found


def calls_of(folder: Path, call: str) -> list[str]:
    """Trace a recording in which nothing breaks."""
    plain = Broken(folder / "plain", call, "EIO", "65535")
    return [line for line in plain.log.read_text().splitlines() if line.startswith(f"{call}(")]


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_every_write_may_fail(error: str, tmp_path: Path) -> None:
    """Past the last write nothing is left to break, and the run is clean; how many there are, samples decide."""
    calls = len(calls_of(tmp_path, "write"))
    found = break_each(tmp_path, "write", error, map(str, range(1, calls + MARGIN)))
    assert all(one.injected == (one.calls >= number) for number, one in enumerate(found, 1))
    assert all(one.injected for one in found[:9])
    assert not all(one.injected for one in found)


def test_every_write_may_fail_from_some_moment_on(tmp_path: Path) -> None:
    break_each(tmp_path, "write", "ENOSPC", [f"{number}+" for number in range(5, 15)])


@pytest.mark.parametrize(
    ("call", "error", "most"),
    [
        ("ftruncate", "EIO", 1),
        ("rename", "EACCES", 2),
        ("getdents64", "EIO", 8),
        ("pread64", "EIO", 8),
        ("lseek", "EIO", 4),
        ("kill", "EPERM", 2),
        ("mkdir", "ENOSPC", 6),
        ("mkdir", "EACCES", 6),
    ],
)
def test_the_last_calls_of_any_kind_may_fail(call: str, error: str, most: int, tmp_path: Path) -> None:
    calls = len(calls_of(tmp_path, call))
    break_each(tmp_path, call, error, map(str, range(max(1, calls - most), calls + 1)))


def test_any_file_may_be_missing_while_the_job_runs(tmp_path: Path) -> None:
    """A network file system hangs up, an environment is upgraded: imports and reads fail at any moment."""
    calls = len(calls_of(tmp_path, "openat"))
    chosen = random.Random(5).sample(range(calls // 3, calls + 1), 24)
    break_each(tmp_path, "openat", "EIO", map(str, chosen))


def test_descriptors_may_run_out_for_good(tmp_path: Path) -> None:
    """Every open fails from some moment on, soon after the run folder was made."""
    began = next(n for n, line in enumerate(calls_of(tmp_path, "openat")) if "/run.jsonl" in line)
    break_each(tmp_path, "openat", "EMFILE", [f"{began + later}+" for later in (3, 12, 20, 40)])


@pytest.mark.parametrize(
    ("call", "error"), [("prctl", "EINVAL"), ("perf_event_open", "EACCES"), ("pidfd_open", "ENOSYS")]
)
def test_a_kernel_without_a_call_costs_a_measurement_only(call: str, error: str, tmp_path: Path) -> None:
    broken = Broken(tmp_path / "run", call, error, "1+")
    broken.check()
    (folder,) = broken.home.folders()
    assert merged(folder)["status"] == "failed"
    assert events(folder, "source_failed") == []
    assert hasattr(errno, error)
