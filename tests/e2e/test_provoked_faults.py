"""Faults provoked for real, and what `jobmeter analyze` calls them; the table of docs/verdicts.md says the same.

Others stand where what they need is: a CUDA card and cgroup v2 in `tests/truth`, a real DataLoader in
`tests/frameworks`, what takes its time in `test_slow_faults.py`.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.probes import cgroupfs
from jobmeter.probes.paths import Paths
from support import cgroups, faults, recorder
from support.faults import provoke
from support.recorder import Home

PYTHON = (sys.executable, "-S", "-c")
TRAINED = (sys.executable, "-c")
OFTEN = ("--sample-interval", "0.1", "--report-interval", "0.5")

GREEDY = "held = [bytearray(b'x') * (16 << 20) for _ in range(40)]"
GREEDY_CHILD = f"""
import os, sys
pid = os.fork()
if pid == 0:
    {GREEDY}
sys.exit(1 if os.waitpid(pid, 0)[1] else 0)
"""


def test_a_job_over_the_limit_of_its_cgroup(home: Home, memory_limit: str) -> None:
    said = provoke(home, *PYTHON, GREEDY, preexec_fn=faults.inside(memory_limit))
    assert said.finished.code == 137
    assert (said.cause, said.confidence) == ("oom_cgroup", 0.98)
    assert said.sentence.startswith(("the kernel killed python (pid ", "the kernel killed python3 (pid "))
    assert said.sentence.endswith("of the 128 MiB the job may use")
    assert {"event oom_kill", "event kernel_message"} <= set(said.sources)


def test_a_child_over_the_limit_takes_the_job_with_it(home: Home, memory_limit: str) -> None:
    said = provoke(home, *PYTHON, GREEDY_CHILD, preexec_fn=faults.inside(memory_limit))
    assert said.finished.code == 1
    assert said.cause == "oom_cgroup"


def test_a_crash_is_quoted_from_the_kernels_log(home: Home) -> None:
    said = provoke(home, *PYTHON, "import _ctypes; print(_ctypes.call_function(8, ()))")
    assert said.finished.code == 139
    assert (said.cause, said.confidence) == ("killed_signal", 0.9)
    assert "SIGSEGV" in said.sentence
    assert "event kernel_message" in said.sources


# the stand-in for a DataLoader: the parent learns of it as torch does, by the signal its worker died of
WORKER = """
import multiprocessing, os, signal, sys

def work(queue):
    queue.put(1)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    queue = multiprocessing.get_context("fork").SimpleQueue()
    worker = multiprocessing.get_context("fork").Process(target=work, args=(queue,))
    worker.start()
    queue.get()
    worker.join()
    raise RuntimeError(f"DataLoader worker (pid {worker.pid}) is killed by signal: Killed. ")
"""


def test_a_worker_that_is_killed(home: Home) -> None:
    said = provoke(home, *TRAINED, WORKER)
    assert said.cause == "worker_killed"
    assert "was killed by SIGKILL; the job itself did not run short of memory (peak " in said.sentence
    assert [one["rule"] for one in said.report["recommendations"]] == ["dead_worker"]


def test_a_pool_whose_worker_is_killed(home: Home) -> None:
    script = """
import os, signal
from concurrent.futures import ProcessPoolExecutor
def die(): os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    with ProcessPoolExecutor(1) as pool: pool.submit(die).result()
"""
    assert provoke(home, *TRAINED, script).cause == "worker_killed"


TRAINING = """
import sys, time
import jobmeter
run = jobmeter.init(project="faults")
for step in range(60):
    run.log({{"loss": {loss}, "grad_norm": 1.0}}, step=step)
    time.sleep(0.01)
run.finish()
"""


def test_a_loss_that_becomes_nan(home: Home) -> None:
    said = provoke(home, *TRAINED, TRAINING.format(loss="2.0 / (step + 1) if step < 30 else float('nan')"))
    assert said.finished.code == 0
    assert said.cause == "nan_loss"
    assert said.report["health"] == "critical"


def test_a_loss_that_becomes_nan_in_the_output_alone(home: Home) -> None:
    script = "for step in range(40): print(f'step {step} loss {2.0 / (step + 1) if step < 20 else float(\"nan\"):.4f}')"
    assert provoke(home, *PYTHON, script).cause == "nan_loss"


def test_a_loss_that_diverges(home: Home) -> None:
    said = provoke(home, *TRAINED, TRAINING.format(loss="2.0 / (step + 1) if step < 30 else 1.3 ** step"))
    assert said.finished.code == 0
    assert said.cause == "diverged"


def test_a_disk_that_is_full(home: Home, tmp_path: Path) -> None:
    script = f"""
mount -t tmpfs -o size=1m none {tmp_path}/small && exec {sys.executable} -S -c '
file = open("{tmp_path}/small/model.pt", "wb", buffering=0)
while True: file.write(bytes(65536))'
"""
    (tmp_path / "small").mkdir()
    said = provoke(home, "unshare", "-m", "sh", "-c", script)
    assert said.finished.code == 1
    assert said.cause == "disk_full"


def test_a_job_that_is_told_to_end(home: Home) -> None:
    said = _signalled(home, signal.SIGTERM)
    assert said.finished.code == 143
    assert said.cause == "killed_signal"
    assert "SIGTERM" in said.sentence
    assert said.action("sent_signal").startswith("Find what sent SIGTERM: ")
    assert said.alarming == []


def test_a_job_its_user_interrupts(home: Home) -> None:
    said = _signalled(home, signal.SIGINT)
    assert said.cause == "interrupted"
    assert said.report["health"] == "warning"


def _signalled(home: Home, number: int) -> faults.Said:
    script = "import time\nprint('up', flush=True)\nwhile True: time.sleep(0.05)"
    process = home.start("-q", "--capture", "all", *OFTEN, *TRAINED, script)
    recorder.wait_for(lambda: recorder.sampled(home.path))
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(number)
    return faults.analyse(home.finish(process))


def test_a_job_that_takes_longer_than_it_may(home: Home) -> None:
    script = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: sum(range(1000))"
    said = provoke(home, "--timeout", "1", *PYTHON, script)
    assert said.finished.code == 124
    assert (said.cause, said.confidence) == ("timeout", 0.98)


def test_a_job_that_its_scheduler_ended(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # no Slurm here: what stands in for it answers as sacct does about a job that ends now
    (tmp_path / "sacct").write_text('#!/bin/sh\necho "TIMEOUT|$(($(date +%s) - 5))|$(date +%s)"\n')
    (tmp_path / "sacct").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    said = provoke(home, *PYTHON, "import os, time; time.sleep(0.2); os.kill(os.getpid(), 15)")
    assert (said.cause, said.confidence) == ("timeout", 0.95)
    assert said.sources[0] == "sacct"


def test_a_module_that_is_not_installed(home: Home) -> None:
    said = provoke(home, *TRAINED, "import flash_attn_that_nobody_installed")
    assert said.cause == "import_error"
    assert "flash_attn_that_nobody_installed" in said.sentence


def test_a_name_that_a_module_does_not_have(home: Home) -> None:
    said = provoke(home, *TRAINED, "from json import nothing_of_the_kind")
    assert (said.cause, said.sentence) == ("import_error", "json has no nothing_of_the_kind to import")
    assert said.action("import_name").startswith(
        "json has no nothing_of_the_kind: correct the name in the import"
    )


@pytest.mark.parametrize(
    ("script", "words", "action"),
    [
        (
            "from ruamel.yaml import YAML; YAML(typ='safe').load('lr: [1e-3\\nbatch: 4')",
            "while parsing a flow sequence, line 1, column 5: expected ',' or ']', but got ':' at line 2, column 6",
            "Correct line 1, column 5 to line 2, column 6 of the config: expected ',' or ']', but got ':'",
        ),
        (
            "import argparse; argparse.ArgumentParser().parse_args(['--learning-rate', '1'])",
            "unrecognized arguments: --learning-rate 1",
            "Take --learning-rate 1 out, or correct its name: --help of the program lists what it takes",
        ),
    ],
    ids=["yaml", "argparse"],
)
def test_a_setting_that_is_refused(home: Home, script: str, words: str, action: str) -> None:
    said = provoke(home, *TRAINED, script)
    assert (said.cause, said.sentence) == ("config_error", f"the job refused its settings: {words}")
    assert said.action("refused_setting") == action


def test_an_exception_of_the_jobs_own(home: Home, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import random\n\ndef load():\n    return random.sample([], 3)\n\nload()\n")
    said = provoke(home, *TRAINED[:1], str(script))
    assert said.cause == "exception"
    assert said.action("exception_place").startswith(f"Look at {script}:4 in load: ValueError: Sample larger")


def test_no_descriptor_left(home: Home) -> None:
    script = "import os\nheld = [open('/dev/null') for _ in range(100000)]"
    said = provoke(home, "sh", "-c", f'ulimit -n 256; exec {sys.executable} -S -c "$0"', script)
    assert said.cause == "resource_limit"
    assert "as many files open as it may" in said.sentence
    assert said.action("open_files").startswith("Raise ulimit -n 256 to 65536 in the job's own command")


STORM = """
import os, time
for _ in range(150):
    pid = os.fork()
    if pid == 0:
        until = time.process_time() + 0.005
        while time.process_time() < until: pass
        os._exit(0)
    os.waitpid(pid, 0)
"""


def test_a_storm_of_short_processes_is_nothing_to_worry_about(home: Home) -> None:
    before = os.times()
    said = provoke(home, *OFTEN, *PYTHON, STORM)
    after = os.times()
    assert said.cause == "completed"
    assert said.alarming == []
    used = said.finished.run["summary"]["wait_cputime"]
    spent = sum(after[2:4]) - sum(before[2:4])
    # each of them burnt 5 ms, and all that we waited for since used no more
    assert 150 * 0.005 <= used <= spent


def test_a_job_that_fills_the_page_cache_is_not_out_of_memory(
    home: Home, memory_limit: str, tmp_path: Path
) -> None:
    script = f"""
import os
fd = os.open("{tmp_path}/large", os.O_RDWR | os.O_CREAT)
for _ in range(3):
    os.lseek(fd, 0, 0)
    for _ in range(300): os.write(fd, bytes(1 << 20))
    os.fsync(fd)
os.unlink("{tmp_path}/large")
"""
    said = provoke(home, *OFTEN, *PYTHON, script, preexec_fn=faults.inside(memory_limit))
    assert said.cause == "completed"
    charged = max(value for _, value in recorder.series(said.finished.folder, "cgroup_mem_current"))
    assert charged > 100 << 20, "the cache never filled its limit: this would prove nothing"
    assert not {"near_limit", "leak", "swap"} & set(said.alarming)


def test_a_job_that_waits_is_nothing_to_worry_about(home: Home) -> None:
    said = provoke(home, *OFTEN, "sleep", "2")
    assert (said.cause, said.report["health"]) == ("completed", "good")
    assert said.alarming == []


def test_an_idle_service_is_nothing_to_worry_about(home: Home) -> None:
    script = "import time\nfor _ in range(8): time.sleep(0.25); sum(range(1000))"
    said = provoke(home, *OFTEN, *PYTHON, script)
    assert (said.cause, said.alarming) == ("completed", [])


BURN = """
import os, time
os.fork()
end = time.monotonic() + 4
while time.monotonic() < end: sum(range(1000))
"""


@pytest.fixture
def cpu_quota() -> Iterator[str]:
    """Give a real cgroup that may use a tenth of a core."""
    place = cgroupfs.locate(Paths()).cpu
    assert place is not None, "the machine needs the cpu controller"
    directory = f"{place.directory}/quota-{os.getpid()}"
    os.mkdir(directory)
    cgroups.write(f"{directory}/cpu.cfs_period_us", b"50000")
    cgroups.write(f"{directory}/cpu.cfs_quota_us", b"5000")
    yield directory
    os.rmdir(directory)


def test_a_quota_that_withholds_the_processor(home: Home, cpu_quota: str) -> None:
    said = provoke(home, *OFTEN, *PYTHON, BURN, preexec_fn=faults.inside(cpu_quota))
    found = said.finding("cpu_throttled")
    assert (said.cause, found["severity"]) == ("completed", "warning")
    # two processes that want all they can get, on however few cores the machine can spare
    assert found["figures"]["throttled_ratio"] > 0.5


THRASH = """
import mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for _ in range(200): os.write(fd, bytes(1 << 20))
os.fsync(fd)
held = bytearray(b"x") * (100 << 20)
view = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
end = time.monotonic() + 4.5
while time.monotonic() < end:
    for at in range(0, len(view), 4096): view[at]
"""


def test_a_job_that_waits_for_memory(home: Home, memory_limit: str, tmp_path: Path) -> None:
    words = (*OFTEN, *PYTHON, THRASH, str(tmp_path / "large"))
    said = provoke(Home(home.path, traced=False), *words, preexec_fn=faults.inside(memory_limit))
    found = said.finding("memory_pressure")
    assert (said.cause, found["severity"]) == ("completed", "warning")
