"""What of a folder goes out: whole lines, in bounded pieces, the end last, and no file that is not the job's."""

import gzip
import json
import os
import zlib
from pathlib import Path

import pytest

from jobmeter.delivery import inherited, outgoing, sidecar
from jobmeter.delivery.sidecar import Sent, State
from jobmeter.model.sync import Held

END = b'{"type": "end", "status": "completed"}\n'


def gathered(
    folder: Path, state: dict[str, Sent], *, budget: int = 1 << 20, closed: bool = False, live: bool = False
) -> tuple[dict[str, bytes], bool]:
    """Take one request's worth and count it as confirmed."""
    with outgoing.Folder(folder, live=live) as files:
        pieces, more = files.gather(state, budget, closed=closed)
    for piece in pieces:
        assert piece.part.crc32 == state.get(piece.part.name, Sent()).crc32
    state |= {piece.part.name: piece.until for piece in pieces}
    return {piece.part.name: piece.data for piece in pieces}, more


def write(folder: Path, **files: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("_jsonl", ".jsonl").replace("_index", ".index")).write_bytes(content)
    return folder


def test_only_whole_lines_go_out_and_only_once(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", run_jsonl=b"{}\n", usage_jsonl=b"[1]\n[2")
    state: dict[str, Sent] = {}
    assert gathered(folder, state) == ({"usage.jsonl": b"[1]\n", "run.jsonl": b"{}\n"}, False)
    assert gathered(folder, state) == ({}, False)
    write(folder, usage_jsonl=b"[1]\n[22]\n")
    assert gathered(folder, state) == ({"usage.jsonl": b"[22]\n"}, False)


def test_what_is_left_without_a_line_end_goes_out_when_nothing_more_is_written(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", run_jsonl=b"{}\n", usage_jsonl=b"[1]\n[2", stdout=b"last words")
    assert gathered(folder, {}, closed=True)[0] == {
        "stdout": b"last words",
        "usage.jsonl": b"[1]\n[2",
        "run.jsonl": b"{}\n",
    }


def test_zeros_at_the_end_of_a_file_that_a_process_maps_are_no_lines(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", run_jsonl=b"{}\n")
    (folder / "steps.3.jsonl").write_bytes(b"[1]\n[2" + bytes(100))
    state: dict[str, Sent] = {}
    assert gathered(folder, state)[0] == {"steps.3.jsonl": b"[1]\n", "run.jsonl": b"{}\n"}
    (folder / "steps.3.jsonl").write_bytes(b"[1]\n[2]\n" + bytes(100))
    assert gathered(folder, state)[0] == {"steps.3.jsonl": b"[2]\n"}


def test_nothing_else_of_a_folder_goes_out(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", run_jsonl=b"{}\n")
    for name in ("info.json", "push.json", ".room", "secret.key", "alerts.json"):
        (folder / name).write_bytes(b"x\n")
    (folder / "stdout").symlink_to("/etc/hostname")
    os.mkfifo(folder / "stderr")
    assert gathered(folder, {})[0] == {"run.jsonl": b"{}\n"}


def test_that_a_run_ended_is_told_after_everything_else(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", run_jsonl=b'{"type": "start"}\n' + END, usage_jsonl=b"[1]\n" * 100)
    state: dict[str, Sent] = {}
    sent, more = gathered(folder, state, budget=300, closed=True)
    assert (sent["run.jsonl"], more) == (b'{"type": "start"}\n', True)
    rest: list[bytes] = []
    while more:
        sent, more = gathered(folder, state, budget=300, closed=True)
        rest.append(sent.get("run.jsonl", b""))
    assert rest[-1] == END
    assert set(rest[:-1]) <= {b""}
    assert state["usage.jsonl"].sent == 400


def test_a_compressed_file_goes_out_as_it_was(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", run_jsonl=b"{}\n")
    (folder / "usage.jsonl.gz").write_bytes(gzip.compress(b"[1]\n[2]\n"))
    assert (
        gathered(folder, {"usage.jsonl": Sent(read=4, sent=4, crc32=zlib.crc32(b"[1]\n"))})[0]["usage.jsonl"]
        == b"[2]\n"
    )


def test_a_file_that_became_shorter_is_set_aside(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", run_jsonl=b"{}\n", usage_jsonl=b"[1]\n")
    with outgoing.Folder(folder, live=False) as files:
        pieces, _ = files.gather({"usage.jsonl": Sent(read=9, sent=9, crc32=1)}, 1 << 20, closed=False)
        assert [piece.part.name for piece in pieces] == ["run.jsonl"]
        assert files.stuck == {"usage.jsonl": "usage.jsonl became shorter than what was sent of it"}


def test_a_line_that_is_too_long_is_set_aside(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", run_jsonl=b"{}\n", usage_jsonl=b"x" * (9 << 20))
    with outgoing.Folder(folder, live=False) as files:
        files.gather({}, 1 << 20, closed=False)
        assert list(files.stuck) == ["usage.jsonl"]


@pytest.mark.parametrize("held", [0, 3, 7, 20_000, 28_000])
def test_sending_goes_on_from_what_the_server_has(tmp_path: Path, held: int) -> None:
    content = b"step password=hunter2secret\n" * 1_000
    folder = write(tmp_path / "r", run_jsonl=b"{}\n", stdout=content)
    copy = content.replace(b"hunter2secret", b"[redacted]   ")
    with outgoing.Folder(folder, live=False) as files:
        file = files.file("stdout")
        assert file is not None
        sent = file.rewound(Held(size=held, crc32=zlib.crc32(copy[:held])))
        assert sent.sent <= held
        assert sent.crc32 == zlib.crc32(copy[: sent.sent])
        data, _ = file.take(sent, 1 << 20, closed=True)
        assert copy[: sent.sent] + data == copy


@pytest.mark.parametrize("held", [Held(size=3, crc32=1), Held(size=99, crc32=zlib.crc32(b"one\n"))])
def test_a_server_that_has_another_file_is_told_apart(tmp_path: Path, held: Held) -> None:
    folder = write(tmp_path / "r", run_jsonl=b"{}\n", stdout=b"one\n")
    with outgoing.Folder(folder, live=False) as files:
        file = files.file("stdout")
        assert file is not None
        with pytest.raises(outgoing.StuckError, match="another stdout"):
            file.rewound(held)


def recorded_to(tmp_path: Path, path: Path, **output: object) -> Path:
    """Write a run whose stdout went to a file of the user's own."""
    told = {"stream": "stdout", "mode": "inherited", "path": str(path), "offset": 4, **output}
    record = json.dumps({"type": "context", "outputs": [told]}).encode() + b"\n"
    return write(
        tmp_path / "r", run_jsonl=record, output_index=b'["stdout", 8, "2026-11-15T09:50:03.120Z"]\n'
    )


def test_a_file_of_the_users_is_sent_from_the_jobs_first_byte_while_its_recorder_runs(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"old\nnew\n")
    sent, _ = gathered(recorded_to(tmp_path, log), {}, live=True)
    assert sent["stdout"] == b"new\n"
    assert json.loads(sent["output.index"]) == ["stdout", 4, "2026-11-15T09:50:03.120Z"]


def test_a_file_of_the_users_is_sent_later_only_where_the_run_proves_that_it_knows_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"old\nnew\nsecret of somebody else\n")
    proof = zlib.crc32(b"new\n")
    assert gathered(recorded_to(tmp_path, log, end=8, crc32=proof), {})[0]["stdout"] == b"new\n"
    for output in ({}, {"end": 8, "crc32": proof + 1}, {"end": 4, "crc32": 0}, {"end": "8", "crc32": proof}):
        assert "stdout" not in gathered(recorded_to(tmp_path, log, **output), {})[0]


def test_a_received_run_names_no_file_of_this_machine(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"old\nnew\n")
    folder = recorded_to(tmp_path, log, end=8, crc32=zlib.crc32(b"new\n"))
    (folder / "synced.json").write_text('{"agent": "x"}')
    assert inherited.read(folder, live=True) == inherited.Told()


def test_an_index_waits_until_it_is_known_where_its_offsets_count_from(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", run_jsonl=b'{"type": "start"}\n', output_index=b'["stdout", 1, "x"]\n')
    assert "output.index" not in gathered(folder, {}, live=True)[0]
    assert "output.index" in gathered(folder, {}, closed=True)[0]


def test_what_a_server_confirmed_is_remembered_per_server(tmp_path: Path) -> None:
    sent = Sent(read=5, sent=4, crc32=7, key_lines=2)
    sidecar.save(tmp_path, "https://a", State(files={"stdout": sent}, final=True))
    sidecar.save(tmp_path, "https://b", State(problem="no"))
    assert sidecar.load(tmp_path, "https://a") == State(files={"stdout": sent}, final=True)
    assert sidecar.load(tmp_path, "https://b") == State(problem="no")
    assert sidecar.load(tmp_path, "https://c") == State()
    assert os.listdir(tmp_path) == ["push.json"]
    assert (tmp_path / "push.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"servers": 1}', '{"servers": {"https://a": 1}}', '{"servers": {"https://a": {"files": 1}}}',
     '{"servers": {"https://a": {"files": {"stdout": {"read": -1, "sent": 0, "crc32": 0, "key_lines": 0}}}}}',
     '{"servers": {"https://a": {"files": {"stdout": 3}}}}'],
)  # fmt: skip
def test_a_note_that_is_garbled_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "push.json").write_text(text)
    assert sidecar.load(tmp_path, "https://a") == State()
