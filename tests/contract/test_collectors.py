"""What every collector promises, whoever wrote it: names, legal definitions, documentation, and no more than asked."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter import collectors
from jobmeter.aggregation import windows
from jobmeter.model import measurement
from jobmeter.model.measurement import Kind, Scope
from jobmeter.probes.paths import Paths
from jobmeter.recording.job import Job

ROOT = Path(__file__).parents[2]
NAMES = sorted(collectors.ALL)

pytestmark = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def job() -> Iterator[Job]:
    """A real job of three processes, seen as the recorder sees one that already ran."""
    shell = subprocess.Popen(["sh", "-c", "sleep 100 & sleep 100 & wait"], start_new_session=True)
    seen = Job(shell.pid, Paths(), ours=False)
    while len(seen.processes) < 3:
        seen.refresh(full=True)
    yield seen
    os.killpg(shell.pid, signal.SIGKILL)
    seen.close()
    shell.wait()


def keys_of(name: str) -> frozenset[str]:
    return frozenset(m.key for m in collectors.load(name).MEASUREMENTS)


def read_twice(name: str, job: Job, keys: frozenset[str]) -> list[tuple[str, str, object]]:
    source = collectors.load(name).attach(job, keys)
    readings = list(source.read())
    job.refresh(full=True)
    readings += source.read()
    source.close()
    return readings


def test_the_registry_points_at_the_file_of_that_name(name: str) -> None:
    assert collectors.ALL[name] == f"jobmeter.collectors.{name}"
    assert collectors.load(name).__name__ == collectors.ALL[name]  # type: ignore[attr-defined]  # a module


def test_it_has_the_names_of_a_collector_and_says_what_can_mislead(name: str) -> None:
    module = collectors.load(name)
    assert isinstance(module.MEASUREMENTS, tuple)
    assert callable(module.missing)
    assert callable(module.attach)
    assert len((module.__doc__ or "").splitlines()) > 1


def test_its_definitions_are_legal_and_carry_its_name(name: str) -> None:
    found = collectors.load(name).MEASUREMENTS
    assert found
    assert measurement.problems(found) == []
    assert {m.tool for m in found} == {name}


def test_no_other_collector_defines_its_keys(name: str) -> None:
    others = {key for other in NAMES if other != name for key in keys_of(other)}
    assert keys_of(name) & others == set()


def test_every_key_has_a_row_of_six_filled_columns_in_the_docs(name: str) -> None:
    lines = (ROOT / "docs" / "measurements" / f"{name}.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    documented = [row[0].strip("`") for row in rows]
    assert sorted(documented) == sorted(keys_of(name))
    for row in rows:
        assert len(row) == 6, row[0]
        assert all((row[1], row[2], row[3])), row[0]
    units = {m.key: m.unit.value for m in collectors.load(name).MEASUREMENTS}
    assert {row[0].strip("`"): {"s": "seconds"}.get(row[3], row[3]) for row in rows} == units


def test_it_can_be_read_here_or_says_why_not(name: str) -> None:
    reason = collectors.load(name).missing(Paths())
    assert reason is None or (reason and not reason.endswith("."))


def test_a_machine_without_anything_is_no_traceback(name: str, tmp_path: Path) -> None:
    reason = collectors.load(name).missing(Paths(proc=str(tmp_path / "proc"), sys=str(tmp_path / "sys")))
    assert reason is None or reason


def test_it_yields_only_what_it_declared(name: str, job: Job) -> None:
    definitions = {m.key: m for m in collectors.load(name).MEASUREMENTS}
    for key, instance, value in read_twice(name, job, frozenset(definitions)):
        assert key in definitions
        text = definitions[key].kind in (Kind.LABEL, Kind.CATEGORICAL)
        assert isinstance(value, str) if text else type(value) in (int, float), key
        if definitions[key].scope is Scope.PROCESS:
            assert instance in {process.instance for process in job.processes.values()}, key
        elif definitions[key].scope in (Scope.JOB, Scope.HOST):
            assert instance == "", key


def test_a_selection_yields_only_that_selection(name: str, job: Job) -> None:
    every = sorted(keys_of(name))
    for chosen in (frozenset(every[::2]), frozenset(every[1::2]), frozenset()):
        assert {key for key, _, _ in read_twice(name, job, chosen)} <= chosen


def test_no_key_comes_twice_for_one_instance(name: str, job: Job) -> None:
    source = collectors.load(name).attach(job, keys_of(name))
    names = [(key, instance) for key, instance, _ in source.read()]
    source.close()
    assert len(names) == len(set(names))


def test_counters_never_fall(name: str, job: Job) -> None:
    counters = frozenset(m.key for m in collectors.load(name).MEASUREMENTS if m.kind is Kind.COUNTER)
    last: dict[tuple[str, str], float] = {}
    for key, instance, value in read_twice(name, job, counters - {"host_iowait"}):  # the kernel's may
        assert float(value) >= last.get((key, instance), 0.0), key
        last[key, instance] = float(value)


def test_its_readings_fold_into_a_window(name: str, job: Job) -> None:
    definitions = {m.key: m for m in collectors.load(name).MEASUREMENTS}
    readings = read_twice(name, job, frozenset(definitions))
    buffer = windows.Buffer(definitions, lambda _: True, 0.0)
    buffer.add(name, 1.0, readings)
    assert {key for key, _, _ in readings} <= {key for key, _ in buffer.fold()}


def test_closing_gives_every_descriptor_back(name: str, job: Job) -> None:
    read_twice(name, job, keys_of(name))  # imports may keep descriptors of their own
    job.refresh(full=True)
    before = len(list(Path("/proc/self/fd").iterdir()))
    read_twice(name, job, keys_of(name))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_importing_it_loads_nothing_heavy(name: str) -> None:
    script = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); before = set(sys.modules)\n"
        "__import__(sys.argv[2]); print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-E", "-c", script, str(ROOT / "src"), collectors.ALL[name]],
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"typing", "dataclasses", "subprocess", "argparse", "pathlib", "logging", "datetime", "tomllib"}
    heavy |= {"psutil", "asyncio", "inspect", "shutil", "tempfile", "socket", "threading"}
    assert heavy & set(json.loads(ran.stdout)) == set()
