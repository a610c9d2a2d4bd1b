"""Each check of `doctor` finds what is wrong where something is."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobmeter.probes.paths import Paths
from jobmeter.service import doctor
from jobmeter.service.doctor import Place, Verdict, keeping, kernel, measured

NOBODY = 65534


@contextmanager
def nobody() -> Iterator[None]:
    """Do without the rights of root for a moment."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def place(tmp_path: Path, **files: str) -> Place:
    """Lay out a /proc of our own; `__` stands for a slash."""
    for name, content in files.items():
        file = tmp_path / "proc" / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return Place(Paths(str(tmp_path / "proc"), str(tmp_path / "sys")), str(tmp_path / "home"))


@pytest.mark.parametrize("name", doctor.ALL)
def test_every_check_can_be_loaded(name: str) -> None:
    assert callable(doctor.load(name))


def test_no_cgroup_file_system_is_a_warning(tmp_path: Path) -> None:
    finding = kernel.check_cgroup(place(tmp_path, self__cgroup="", self__mountinfo=""))
    assert finding.verdict is Verdict.WARN
    assert finding.fact.startswith("no cgroup file system")


def test_a_cgroup_made_for_the_test_is_gone_afterwards() -> None:
    assert kernel.check_cgroup(Place(Paths(), "/nowhere")).verdict is Verdict.OK
    left = [path for root in ("/sys/fs/cgroup",) for path in Path(root).rglob(f"*doctor-{os.getpid()}")]
    assert left == []


def test_without_rights_the_reason_for_no_own_cgroup_is_told() -> None:
    with nobody():
        finding = kernel.check_cgroup(Place(Paths(), "/nowhere"))
    assert finding.verdict is Verdict.WARN
    assert "may not move processes" in finding.fact or "cannot make" in finding.fact
    assert finding.repair.startswith("systemd-run")


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ("rw,relatime", Verdict.OK),
        ("rw,hidepid=0", Verdict.OK),
        ("rw,hidepid=2", Verdict.WARN),
        ("rw,hidepid=invisible", Verdict.WARN),
    ],
)
def test_hidden_processes_are_a_warning(tmp_path: Path, options: str, verdict: Verdict) -> None:
    found = kernel.check_proc(
        place(tmp_path, self__mounts=f"none / ext4 rw 0 0\nproc /proc proc {options} 0 0\n")
    )
    assert found.verdict is verdict


def test_a_kernel_without_pressure_is_a_warning(tmp_path: Path) -> None:
    assert kernel.check_pressure(place(tmp_path)).repair == "boot with psi=1"
    assert kernel.check_pressure(place(tmp_path, pressure__cpu="some avg10=0.00\n")).verdict is Verdict.OK


def test_few_descriptors_are_a_warning() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        finding = kernel.check_descriptors(Place(Paths(), "/nowhere"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert finding.verdict is Verdict.WARN
    assert finding.repair == f"ulimit -n {hard}"


def test_a_home_that_cannot_be_written_fails(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    with nobody():
        finding = keeping.check_home(place(tmp_path))
    assert finding.verdict is Verdict.FAIL
    assert finding.fact == f"cannot write in {tmp_path}/home: permission denied"
    assert keeping.check_home(place(tmp_path)).fact == f"{tmp_path}/home can be written"


def test_a_home_that_is_not_there_yet_can_be_made(tmp_path: Path) -> None:
    assert keeping.check_home(place(tmp_path)).fact == f"{tmp_path}/home can be made"
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    finding = keeping.check_cache(Place(Paths(), str(tmp_path / "home")))
    assert finding.verdict is Verdict.WARN
    assert finding.repair == "set XDG_CACHE_HOME to a local directory of yours"


def test_this_machine_has_what_it_needs(tmp_path: Path) -> None:
    here = Place(Paths(), str(tmp_path))
    for check in (
        kernel.check_clocks,
        kernel.check_pidfd,
        keeping.check_python,
        keeping.check_sqlite,
        keeping.check_disk,
    ):
        assert check(here).verdict is Verdict.OK


@pytest.mark.parametrize(
    ("recorded", "verdict"), [(1.02, Verdict.OK), (1.2, Verdict.WARN), (0.9, Verdict.FAIL)]
)
def test_a_recorded_job_is_compared_with_what_the_kernel_told_it(
    tmp_path: Path, recorded: float, verdict: Verdict
) -> None:
    folder = tmp_path / "runs" / "2026-11" / "x"
    folder.mkdir(parents=True)
    (folder / "run.jsonl").write_text(
        f'{{"type": "end", "status": "completed", "exit_code": 0, "summary": {{"wait_cputime": {recorded}}}}}\n'
    )
    assert measured.compare(str(tmp_path), 1.0).verdict is verdict


def test_a_job_that_left_no_folder_fails(tmp_path: Path) -> None:
    assert measured.compare(str(tmp_path), 1.0).verdict is Verdict.FAIL
