"""What others send is appended once, whole, under its own name, for who it belongs to."""

import fcntl
import json
import os
import threading
import zlib
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model import sync
from jobmeter.service import garbage, syncing
from jobmeter.service.syncing import Caps, GapError, Receiver, RefusedError, Sender

RUN_ID = "20261115T095001Z-7f3a9c"
ME = Sender(name="node7")
START = b'{"type": "start", "run_id": "20261115T095001Z-7f3a9c"}\n'


def body(*parts: tuple[str, int, bytes, bytes], final: bool = False) -> bytes:
    """Make a body of (name, offset, what comes before, bytes)."""
    files = [
        {"name": name, "offset": offset, "crc32": zlib.crc32(before), "length": len(data)}
        for name, offset, before, data in parts
    ]
    header = json.dumps({"files": files, "final": final}).encode()
    return header + b"\n" + b"".join(data for *_, data in parts)


def copy_of(home: Path) -> Path:
    return home / "runs" / "2026-11" / RUN_ID


def test_new_bytes_of_all_files_are_appended_in_one_request(tmp_path: Path) -> None:
    receiver = Receiver(str(tmp_path))
    sizes = receiver.receive(
        RUN_ID, body(("run.jsonl", 0, b"", START), ("stdout", 0, b"", b"no line end")), ME
    )
    assert sizes == {"run.jsonl": len(START), "stdout": 11}
    more = receiver.receive(RUN_ID, body(("stdout", 11, b"no line end", b", more")), ME)
    assert more == {"stdout": 17}
    assert (copy_of(tmp_path) / "run.jsonl").read_bytes() == START
    assert (copy_of(tmp_path) / "stdout").read_bytes() == b"no line end, more"
    assert (copy_of(tmp_path) / "stdout").stat().st_mode & 0o777 == 0o600


def test_the_same_request_again_changes_nothing(tmp_path: Path) -> None:
    request = body(("usage.jsonl", 0, b"", b"{}\n"))
    for receiver in (Receiver(str(tmp_path)), Receiver(str(tmp_path))):
        assert receiver.receive(RUN_ID, request, ME) == {"usage.jsonl": 3}
        assert receiver.receive(RUN_ID, request, ME) == {"usage.jsonl": 3}
    assert (copy_of(tmp_path) / "usage.jsonl").read_bytes() == b"{}\n"


def test_an_old_request_after_newer_ones_changes_nothing(tmp_path: Path) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("usage.jsonl", 0, b"", b"{}\n[]\n")), ME)
    assert receiver.receive(RUN_ID, body(("usage.jsonl", 0, b"", b"{}\n")), ME) == {"usage.jsonl": 6}


def test_what_reaches_beyond_what_is_there_is_added(tmp_path: Path) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("usage.jsonl", 0, b"", b"{}\n")), ME)
    assert receiver.receive(RUN_ID, body(("usage.jsonl", 0, b"", b"{}\n[]\n")), ME) == {"usage.jsonl": 6}
    assert (copy_of(tmp_path) / "usage.jsonl").read_bytes() == b"{}\n[]\n"


@pytest.mark.parametrize(
    "part",
    [
        ("usage.jsonl", 9, b"{}\n......", b"[]\n"),
        ("usage.jsonl", 3, b"[]\n", b"[]\n"),
        ("usage.jsonl", 0, b"", b"[]\n"),
        ("usage.jsonl", 0, b"", b"[]\n[]\n"),
    ],
    ids=["a gap", "another past", "another line", "another beginning"],
)
def test_what_does_not_follow_is_answered_with_what_is_there(
    tmp_path: Path, part: tuple[str, int, bytes, bytes]
) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("usage.jsonl", 0, b"", b"{}\n")), ME)
    with pytest.raises(GapError) as refused:
        receiver.receive(RUN_ID, body(part, ("stdout", 0, b"", b"x")), ME)
    assert refused.value.files == {"usage.jsonl": sync.Held(size=3, crc32=zlib.crc32(b"{}\n"))}
    assert not (copy_of(tmp_path) / "stdout").exists()


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/passwd", "info.json", "push.json", "synced.json", ".room", "run.jsonl/..", "steps.a/b.jsonl",
     "run.jsonl.gz", "steps..jsonl", "steps.a.b.c.d.jsonl", "", "stdout\n", "notes.mine.jsonl", "STDOUT"],
)  # fmt: skip
def test_a_name_that_is_no_file_of_a_run_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="not a file of a run"):
        Receiver(str(tmp_path)).receive(RUN_ID, body((name, 0, b"", b"x\n")), ME)
    assert not copy_of(tmp_path).exists()


@pytest.mark.parametrize(
    "run_id",
    ["..", "../../x", "a/b", "", ".hidden", "20261315T1Z-x", "2026", "abcdef", "202611/../../x", "x" * 300,
     "20261115\0", "\u0662\u0660\u0662\u0666\u0661\u066115", "20261115 x"],
)  # fmt: skip
def test_what_is_no_run_id_becomes_no_path(tmp_path: Path, run_id: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with pytest.raises(UsageError, match="not a run id"):
        Receiver(str(home)).receive(run_id, body(("stdout", 0, b"", b"x")), ME)
    assert list(home.iterdir()) == []
    assert list(tmp_path.iterdir()) == [home]


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        (b"", "no header line"),
        (b"x" * (2 << 20), "no header line"),
        (b"[]\n", "cannot read the header"),
        (b"{" * 5000 + b"\n", "cannot read the header"),
        (b'{"files": [{"name": "stdout", "offset": 0, "crc32": 0, "length": 9}]}\nx', "shorter"),
        (b'{"files": [{"name": "stdout", "offset": 0, "crc32": 0, "length": -1}]}\n', "shorter"),
        (b'{"files": []}\nx', "longer"),
        (b'{"files": [{"name": "stdout", "offset": -1, "crc32": 0, "length": 0}]}\n', "impossible"),
        (b'{"files": [{"name": "stdout", "offset": 0, "crc32": 4294967296, "length": 0}]}\n', "impossible"),
        (
            b'{"files": [{"name": "stdout", "offset": 0, "crc32": 0, "length": 0, "age_seconds": -1}]}\n',
            "impossible",
        ),
        (b'{"files": [{"name": "run.jsonl", "offset": 0, "crc32": 0, "length": 1}]}\nx', "whole line"),
        (body(("stdout", 0, b"", b"x"), ("stdout", 0, b"", b"x")), "twice"),
    ],
)
def test_a_body_that_contradicts_itself_is_refused_whole(tmp_path: Path, sent: bytes, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        Receiver(str(tmp_path)).receive(RUN_ID, sent, ME)
    assert list(tmp_path.iterdir()) == []


def test_half_a_line_left_by_a_kill_is_mended_by_the_next_request(tmp_path: Path) -> None:
    Receiver(str(tmp_path)).receive(RUN_ID, body(("usage.jsonl", 0, b"", b"{}\n")), ME)
    with (copy_of(tmp_path) / "usage.jsonl").open("ab") as file:
        file.write(b'{"ti')
    again = Receiver(str(tmp_path))
    assert again.receive(RUN_ID, body(("usage.jsonl", 3, b"{}\n", b'{"time": 1}\n')), ME) == {
        "usage.jsonl": 15
    }
    assert (copy_of(tmp_path) / "usage.jsonl").read_bytes() == b'{}\n{"time": 1}\n'


def test_half_written_output_is_completed(tmp_path: Path) -> None:
    Receiver(str(tmp_path)).receive(RUN_ID, body(("stdout", 0, b"", b"one ")), ME)
    with (copy_of(tmp_path) / "stdout").open("ab") as file:
        file.write(b"tw")
    assert Receiver(str(tmp_path)).receive(RUN_ID, body(("stdout", 4, b"one ", b"two")), ME) == {"stdout": 7}
    assert (copy_of(tmp_path) / "stdout").read_bytes() == b"one two"


def test_a_file_that_shrank_behind_the_servers_back_is_told_as_it_is(tmp_path: Path) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("stdout", 0, b"", b"one two")), ME)
    os.truncate(copy_of(tmp_path) / "stdout", 3)
    with pytest.raises(GapError) as refused:
        receiver.receive(RUN_ID, body(("stdout", 7, b"one two", b"!")), ME)
    assert refused.value.files == {"stdout": sync.Held(size=3, crc32=zlib.crc32(b"one"))}


def test_a_last_line_without_its_end_is_taken_at_the_end_of_the_run(tmp_path: Path) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("usage.jsonl", 0, b"", b'{"cut'), final=True), ME)
    assert Receiver(str(tmp_path)).receive(RUN_ID, body(("usage.jsonl", 5, b'{"cut', b"")), ME) == {
        "usage.jsonl": 5
    }
    assert (copy_of(tmp_path) / "usage.jsonl").read_bytes() == b'{"cut'


def test_a_run_belongs_to_who_began_it(tmp_path: Path) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("stdout", 0, b"", b"x")), ME)
    with pytest.raises(RefusedError, match="another agent") as refused:
        receiver.receive(RUN_ID, body(("stdout", 1, b"x", b"y")), Sender(name="node8"))
    assert refused.value.status == 403
    admin = Sender(name="admin", may_send_any=True)
    assert receiver.receive(RUN_ID, body(("stdout", 1, b"x", b"y")), admin) == {"stdout": 2}
    assert receiver.receive(RUN_ID, body(("stdout", 2, b"xy", b"z")), ME) == {"stdout": 3}


def test_a_run_recorded_on_the_server_itself_is_nobody_elses(tmp_path: Path) -> None:
    copy_of(tmp_path).mkdir(parents=True)
    (copy_of(tmp_path) / "run.jsonl").write_bytes(START)
    with pytest.raises(RefusedError, match="recorded on the server itself"):
        Receiver(str(tmp_path)).receive(RUN_ID, body(("run.jsonl", 0, b"", START)), ME)
    assert sorted(os.listdir(copy_of(tmp_path))) == ["run.jsonl"]


def test_a_run_that_was_thrown_away_does_not_come_back_by_itself(tmp_path: Path) -> None:
    (tmp_path / "bin" / "2026-11" / RUN_ID).mkdir(parents=True)
    with pytest.raises(RefusedError, match="thrown away") as refused:
        Receiver(str(tmp_path)).receive(RUN_ID, body(("stdout", 0, b"", b"x")), ME)
    assert refused.value.status == 410


@pytest.mark.parametrize(
    "caps", [Caps(file_bytes=10), Caps(run_bytes=35), Caps(files=2)], ids=["file", "run", "files"]
)
def test_a_run_that_grows_beyond_its_caps_is_refused(tmp_path: Path, caps: Caps) -> None:
    receiver = Receiver(str(tmp_path), caps)
    receiver.receive(RUN_ID, body(("stdout", 0, b"", b"x" * 10)), ME)
    with pytest.raises(RefusedError) as refused:
        receiver.receive(RUN_ID, body(("stdout", 10, b"x" * 10, b"x" * 9), ("stderr", 0, b"", b"y")), ME)
    assert refused.value.status == 413
    assert (copy_of(tmp_path) / "stdout").read_bytes() == b"x" * 10


def test_a_file_compressed_since_goes_on_where_it_ended(tmp_path: Path) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("usage.jsonl", 0, b"", b"{}\n" * 3000)), ME)
    assert garbage.compress(copy_of(tmp_path) / "usage.jsonl") > 0
    before = b"{}\n" * 3000
    assert receiver.receive(RUN_ID, body(("usage.jsonl", 0, b"", before)), ME) == {"usage.jsonl": 9000}
    assert sorted(os.listdir(copy_of(tmp_path))) == ["synced.json", "usage.jsonl.gz"]
    assert receiver.receive(RUN_ID, body(("usage.jsonl", 9000, before, b"[]\n")), ME) == {"usage.jsonl": 9003}
    assert (copy_of(tmp_path) / "usage.jsonl").read_bytes() == before + b"[]\n"


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("stdout", 0, b"", b"x")), ME)
    (tmp_path / "target").write_bytes(b"")
    (copy_of(tmp_path) / "stderr").symlink_to(tmp_path / "target")
    with pytest.raises(RefusedError):
        receiver.receive(RUN_ID, body(("stderr", 0, b"", b"x")), ME)
    assert (tmp_path / "target").read_bytes() == b""


def test_many_threads_and_two_servers_append_every_byte_once(tmp_path: Path) -> None:
    receivers = [Receiver(str(tmp_path)), Receiver(str(tmp_path))]
    lines = [b"%d\n" % number for number in range(200)]
    before = [b"".join(lines[:number]) for number in range(200)]
    failures: list[str] = []

    def send(receiver: Receiver) -> None:
        for number, line in enumerate(lines):
            request = body(("usage.jsonl", len(before[number]), before[number], line))
            try:
                receiver.receive(RUN_ID, request, ME)
            except (GapError, RefusedError) as error:
                failures.append(str(error))

    threads = [threading.Thread(target=send, args=(receivers[number % 2],)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert (copy_of(tmp_path) / "usage.jsonl").read_bytes() == b"".join(lines)


def test_a_run_held_by_another_server_is_told_to_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("stdout", 0, b"", b"x")), ME)
    monkeypatch.setattr(syncing, "_LOCK_SECONDS", 0.0)
    with (copy_of(tmp_path) / sync.MARKER).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(RefusedError) as refused:
            receiver.receive(RUN_ID, body(("stdout", 1, b"x", b"y")), ME)
    assert (refused.value.status, refused.value.retry_after_seconds) == (503, 2.0)


def test_an_old_files_age_is_kept(tmp_path: Path) -> None:
    header = {"files": [{"name": "stdout", "offset": 0, "crc32": 0, "length": 1, "age_seconds": 86400}]}
    Receiver(str(tmp_path)).receive(RUN_ID, json.dumps(header).encode() + b"\nx", ME)
    status = (copy_of(tmp_path) / "stdout").stat()
    assert 86390 < os.stat(tmp_path).st_mtime - status.st_mtime < 86410


def test_notes_of_the_sender_and_of_the_server_stand_apart(tmp_path: Path) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("run.jsonl", 0, b"", START), ("notes.jsonl", 0, b"", b"{}\n")), ME)
    assert sorted(os.listdir(copy_of(tmp_path))) == ["notes.pushed.jsonl", "run.jsonl", "synced.json"]


def test_what_comes_after_the_end_has_the_index_look_again(tmp_path: Path) -> None:
    receiver = Receiver(str(tmp_path))
    receiver.receive(RUN_ID, body(("run.jsonl", 0, b"", START), final=True), ME)
    assert not (tmp_path / "changes.jsonl").exists()
    late = body(("notes.jsonl", 0, b"", b"{}\n"), final=True)
    receiver.receive(RUN_ID, late, ME)
    receiver.receive(RUN_ID, late, ME)
    assert (tmp_path / "changes.jsonl").read_text() == f'{{"run_id":"{RUN_ID}"}}\n'
