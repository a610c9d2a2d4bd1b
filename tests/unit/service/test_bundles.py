import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import bundles, logs, runs
from support import folders


@pytest.fixture
def home(tmp_path: Path) -> str:
    folders.write_run(tmp_path / "home", seconds=30)
    return str(tmp_path / "home")


@pytest.fixture
def other(tmp_path: Path) -> str:
    return str(tmp_path / "other")


def make(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> str:
    with tarfile.open(path, "w:gz") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return str(path)


def file(name: str, content: bytes = b"{}\n") -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), content


def test_a_bundle_travels(home: str, other: str, tmp_path: Path) -> None:
    path = bundles.bundle(home, "last", str(tmp_path / "run.tar.gz"))
    run = bundles.import_bundle(other, str(path))
    here, there = runs.view(home, "last"), runs.view(other, "last")
    assert run.run_id == folders.RUN_ID
    assert (there.series, there.processes, there.run.summary) == (
        here.series,
        here.processes,
        here.run.summary,
    )
    folder = folders.folder_of(Path(other), folders.RUN_ID)
    assert (folder / "stdout").read_bytes() == b"compiling\n" * 10
    assert {entry.stat().st_mode & 0o777 for entry in folder.iterdir()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (folder, *folder.parents[:3])} == {0o700}
    assert not list(Path(other).glob(".importing*"))


def test_a_bundle_does_not_choose_which_files_are_shown_as_its_output(other: str, tmp_path: Path) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("mine\n")
    outputs = [{"stream": "stdout", "mode": "inherited", "path": str(secret), "offset": 0}]
    folders.write_run(tmp_path / "evil", seconds=1, context={"outputs": outputs})
    path = bundles.bundle(str(tmp_path / "evil"), "last", str(tmp_path / "evil.tar.gz"))
    run = bundles.import_bundle(other, str(path))
    assert [channel.path for channel in logs.channels(run, frozenset(("stdout",)))] == [
        folders.folder_of(Path(other), folders.RUN_ID) / "stdout"
    ]


def test_a_bundle_is_named_after_its_run(home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert bundles.bundle(home, "last") == Path(f"{folders.RUN_ID}.tar.gz")
    with pytest.raises(UsageError, match="is there already"):
        bundles.bundle(home, "last")
    assert bundles.bundle(home, "last", replace=True).exists()
    assert bundles.bundle(home, "last", home) == Path(home, f"{folders.RUN_ID}.tar.gz")


def test_links_in_a_run_folder_stay_behind(home: str, other: str, tmp_path: Path) -> None:
    folder = folders.folder_of(Path(home), folders.RUN_ID)
    (folder / "secret").symlink_to("/etc/passwd")
    (folder / "dir").mkdir()
    path = bundles.bundle(home, "last", str(tmp_path / "run.tar.gz"))
    with tarfile.open(path) as archive:
        assert sorted(archive.getnames()) == [
            f"{folders.RUN_ID}/{name}" for name in ("run.jsonl", "stdout", "usage.jsonl")
        ]


def test_the_same_run_twice_is_found(home: str, other: str, tmp_path: Path) -> None:
    path = str(bundles.bundle(home, "last", str(tmp_path / "run.tar.gz")))
    bundles.import_bundle(other, path)
    folder = folders.folder_of(Path(other), folders.RUN_ID)
    packed = folder / "usage.jsonl.gz"
    packed.write_bytes(gzip.compress((folder / "usage.jsonl").read_bytes()))
    (folder / "usage.jsonl").unlink()
    assert bundles.import_bundle(other, path).run_id == folders.RUN_ID
    assert len(runs.list_runs(other)) == 1
    assert packed.exists()


def test_another_run_of_the_same_id_is_refused(home: str, other: str, tmp_path: Path) -> None:
    path = str(bundles.bundle(home, "last", str(tmp_path / "run.tar.gz")))
    folders.write_run(Path(other), seconds=5)
    with pytest.raises(UsageError, match=f"another run {folders.RUN_ID} is there already"):
        bundles.import_bundle(other, path)
    assert len(runs.view(other, "last", ["wait_cputime"]).series["wait_cputime", ""].times) == 5


def test_a_run_that_was_live_is_lost_where_it_arrives(home: str, other: str, tmp_path: Path) -> None:
    live = folders.write_run(Path(home), run_id="20261120T000000Z-cccccc", seconds=3, ended=False)
    for entry in live.iterdir():
        os.utime(entry, (1e9, 1e9))
    path = bundles.bundle(home, "20261120", str(tmp_path / "live.tar.gz"))
    assert bundles.import_bundle(other, str(path)).status.value == "lost"


RUN = f'{{"type":"start","run_id":"{folders.RUN_ID}"}}\n'.encode()


def link(kind: bytes, target: str) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(f"{folders.RUN_ID}/stdout")
    member.type, member.linkname = kind, target
    return member, b""


@pytest.mark.parametrize(
    "members",
    [
        [file(f"{folders.RUN_ID}/../../evil", RUN)],
        [file("/etc/evil", RUN)],
        [file(f"/{folders.RUN_ID}/run.jsonl", RUN)],
        [file("../run.jsonl", RUN)],
        [file("run.jsonl", RUN)],
        [file(f"{folders.RUN_ID}/deep/run.jsonl", RUN)],
        [file(f"{folders.RUN_ID}/.hidden", RUN)],
        [file("..x/run.jsonl", RUN)],
        [file("evil\n/run.jsonl", RUN)],
        [file(f"{folders.RUN_ID}/run.jsonl", RUN), link(tarfile.SYMTYPE, "/etc/passwd")],
        [file(f"{folders.RUN_ID}/run.jsonl", RUN), link(tarfile.LNKTYPE, f"{folders.RUN_ID}/run.jsonl")],
        [file(f"{folders.RUN_ID}/run.jsonl", RUN), link(tarfile.CHRTYPE, "")],
        [file(f"{folders.RUN_ID}/run.jsonl", RUN), link(tarfile.FIFOTYPE, "")],
        [file(f"{folders.RUN_ID}/run.jsonl", RUN), file("20261115T095001Z-000000/usage.jsonl", b"")],
        [file(f"{folders.RUN_ID}/run.jsonl", RUN), file(f"{folders.RUN_ID}/run.jsonl", RUN)],
        [file("20261115T095001Z-000000/run.jsonl", RUN)],
        [file("notadate/run.jsonl", b'{"type":"start","run_id":"notadate"}\n')],
        [file(f"{folders.RUN_ID}/stdout", b"no run")],
        [],
    ],
)
def test_what_is_no_bundle_is_refused_and_leaves_nothing(
    other: str, tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    path = make(tmp_path / "evil.tar.gz", *members)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError):
        bundles.import_bundle(other, path)
    assert [entry for entry in sorted(tmp_path.rglob("*")) if entry not in (*before, Path(other))] == []


@pytest.mark.parametrize("content", [b"", b"garbage", gzip.compress(b"garbage"), gzip.compress(b"x" * 2000)])
def test_what_is_no_archive_is_refused(other: str, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UsageError):
        bundles.import_bundle(other, str(tmp_path / "x"))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_cut_bundle_is_refused(home: str, other: str, tmp_path: Path, share: float) -> None:
    path = bundles.bundle(home, "last", str(tmp_path / "run.tar.gz"))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(UsageError):
        bundles.import_bundle(other, str(path))
    assert not Path(other, "runs").exists()


def test_a_bomb_is_refused_before_it_unpacks(other: str, tmp_path: Path) -> None:
    member = tarfile.TarInfo(f"{folders.RUN_ID}/stdout")
    member.size = 512 * 1024**2
    with gzip.open(tmp_path / "bomb.tar.gz", "wb") as archive:
        archive.write(member.tobuf())
        archive.write(bytes(1024))
    with pytest.raises(UsageError, match="unpacks to far more than it should"):
        bundles.import_bundle(other, str(tmp_path / "bomb.tar.gz"))


def test_too_many_files_are_refused(other: str, tmp_path: Path) -> None:
    members = [file(f"{folders.RUN_ID}/f{number}", b"") for number in range(1001)]
    with pytest.raises(UsageError, match="more than 1000 files"):
        bundles.import_bundle(other, make(tmp_path / "many.tar.gz", *members))


def test_a_bundle_that_is_not_there_is_said_so(other: str) -> None:
    with pytest.raises(UsageError, match="no such file"):
        bundles.import_bundle(other, "/nowhere.tar.gz")
