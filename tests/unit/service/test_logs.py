"""The job's output read back from captured and inherited files."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jobmeter.model.run import Run
from jobmeter.runfolder import reader
from jobmeter.service import logs
from jobmeter.service.logs import LogReader
from support import folders

BOTH = frozenset(("stdout", "stderr"))


def captured(stream: str) -> dict[str, object]:
    return {"stream": stream, "mode": "captured", "path": stream, "offset": 0}


def make_run(tmp_path: Path, outputs: list[dict[str, object]], **files: bytes) -> Run:
    folder = folders.write_run(tmp_path, seconds=1, context={"outputs": outputs})
    (folder / "stdout").unlink()
    for name, data in files.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    return reader.read_run(folder)


def read_all(run: Run, streams: frozenset[str] = BOTH, last: int | None = None) -> bytes:
    with closing(LogReader(run, logs.channels(run, streams))) as log:
        if last is not None:
            log.skip_to_last(last, live=False)
        return b"".join(piece.data for piece in log.read(live=False))


@pytest.fixture
def log(two_streams: Run) -> Iterator[LogReader]:
    with closing(LogReader(two_streams, logs.channels(two_streams, BOTH))) as reader:
        yield reader


@pytest.fixture
def two_streams(tmp_path: Path) -> Run:
    index = b"\n".join(
        [
            b'["stdout", 4, "2026-11-15T09:50:01.100Z"]',
            b'["stderr", 4, "2026-11-15T09:50:01.200Z"]',
            b"garbage",
            b'["stdout", 8, "2026-11-15T09:50:01.300Z"]\n',
        ]
    )
    return make_run(
        tmp_path,
        [captured("stdout"), captured("stderr")],
        stdout=b"one\ntwo\nlate\n",
        stderr=b"bad\n",
        output_index=index,
    )


def test_two_streams_come_in_the_order_they_arrived(log: LogReader) -> None:
    assert [(piece.stream, piece.data, piece.timestamp) for piece in log.read(live=False)] == [
        ("stdout", b"one\n", "2026-11-15T09:50:01.100Z"),
        ("stderr", b"bad\n", "2026-11-15T09:50:01.200Z"),
        ("stdout", b"two\n", "2026-11-15T09:50:01.300Z"),
        ("stdout", b"late\n", None),
    ]


def test_one_stream_can_be_asked_for(two_streams: Run) -> None:
    assert read_all(two_streams, frozenset(("stderr",))) == b"bad\n"


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (0, b""),
        (1, b"late\n"),
        (2, b"two\nlate\n"),
        (3, b"bad\ntwo\nlate\n"),
        (4, b"one\nbad\ntwo\nlate\n"),
        (99, b"one\nbad\ntwo\nlate\n"),
    ],
)
def test_the_last_lines_are_counted_over_both_streams(two_streams: Run, lines: int, shown: bytes) -> None:
    assert read_all(two_streams, last=lines) == shown


@pytest.mark.parametrize(("lines", "shown"), [(1, b"c"), (2, b"b\nc"), (3, b"a\nb\nc"), (4, b"a\nb\nc")])
def test_a_last_line_without_its_newline_is_a_line(tmp_path: Path, lines: int, shown: bytes) -> None:
    assert read_all(make_run(tmp_path, [captured("stdout")], stdout=b"a\nb\nc"), last=lines) == shown


def test_last_lines_are_found_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "BLOCK_BYTES", 7)
    data = b"".join(b"line %d\n" % number for number in range(50))
    run = make_run(tmp_path, [captured("stdout")], stdout=data)
    assert read_all(run, last=3) == b"line 47\nline 48\nline 49\n"
    assert read_all(run) == data


def test_an_inherited_file_is_read_from_where_the_job_began_to_where_it_stopped(tmp_path: Path) -> None:
    target = tmp_path / "slurm-17.out"
    target.write_bytes(b"before\nours\nafter\n")
    outputs: list[dict[str, object]] = [
        {"stream": "stdout", "mode": "inherited", "path": str(target), "offset": 7}
    ]
    run = make_run(tmp_path / "home", outputs, output_index=b'["stdout", 12, "2026-11-15T09:50:01.100Z"]\n')
    assert read_all(run) == b"ours\n"


def test_an_inherited_file_without_an_index_is_read_to_its_end(tmp_path: Path) -> None:
    target = tmp_path / "nohup.out"
    target.write_bytes(b"before\nours\n")
    outputs: list[dict[str, object]] = [
        {"stream": "stdout", "mode": "inherited", "path": str(target), "offset": 7}
    ]
    assert read_all(make_run(tmp_path / "home", outputs)) == b"ours\n"


def test_two_streams_in_one_file_are_shown_once(tmp_path: Path) -> None:
    target = tmp_path / "both.out"
    target.write_bytes(b"x\n")
    outputs: list[dict[str, object]] = [
        {"stream": stream, "mode": "inherited", "path": str(target), "offset": 0}
        for stream in ("stdout", "stderr")
    ]
    run = make_run(tmp_path / "home", outputs)
    assert [channel.stream for channel in logs.channels(run, BOTH)] == ["stdout"]
    assert read_all(run) == b"x\n"


def test_a_vanished_or_cut_file_is_named_as_such(tmp_path: Path) -> None:
    target = tmp_path / "gone.out"
    outputs: list[dict[str, object]] = [
        {"stream": "stdout", "mode": "inherited", "path": str(target), "offset": 9}
    ]
    (channel,) = logs.channels(make_run(tmp_path / "home", outputs), BOTH)
    assert logs.problem(channel) == "is gone or cannot be read"
    target.write_bytes(b"new")
    assert logs.problem(channel) == "is shorter than when the job began: it was replaced or cut"
    target.write_bytes(b"123456789")
    assert logs.problem(channel) is None


def wrote(target: Path, offset: int, data: bytes) -> Run:
    """Make a run whose recorder saw it write these bytes, and no more, into a file of the user's own."""
    row: dict[str, object] = {"stream": "stdout", "mode": "inherited", "path": str(target), "offset": offset}
    proof = {"end": offset + len(data), "crc32": zlib.crc32(data[-4096:])}
    folder = folders.write_run(
        target.parent / "home", seconds=1, context={"outputs": [row]}, end={"outputs": [row | proof]}
    )
    (folder / "stdout").unlink()
    return reader.read_run(folder)


@pytest.mark.parametrize("length", [4, 4096, 9000])
def test_a_file_that_a_later_run_overwrote_is_refused(tmp_path: Path, length: int) -> None:
    target = tmp_path / "train.log"
    (channel,) = logs.channels(wrote(target, 7, b"x" * length), BOTH)
    target.write_bytes(b"before\n" + b"x" * length)
    assert logs.problem(channel) is None
    for later in (b"before\n" + b"y" * length, b"before\n" + b"x" * (length - 1), b"y" * 20_000):
        target.write_bytes(later)
        assert logs.problem(channel) == "was overwritten since: its lines are not this run's"


def test_what_others_append_behind_the_job_is_not_shown(tmp_path: Path) -> None:
    target = tmp_path / "slurm-17.out"
    run = wrote(target, 7, b"ours\n")
    target.write_bytes(b"before\nours\nafter\n")
    (channel,) = logs.channels(run, BOTH)
    assert logs.problem(channel) is None
    assert read_all(run) == b"ours\n"


def test_a_job_that_wrote_nothing_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "nothing.out"
    target.write_bytes(b"of a later job\n")
    run = wrote(target, 0, b"")
    (channel,) = logs.channels(run, BOTH)
    assert logs.problem(channel) is None
    assert read_all(run) == b""


def test_a_run_without_context_shows_what_is_in_its_folder(tmp_path: Path) -> None:
    run = make_run(tmp_path, [], stdout=b"kept\n")
    assert read_all(run) == b"kept\n"


def test_nothing_captured_is_no_channel(tmp_path: Path) -> None:
    assert logs.channels(make_run(tmp_path, [captured("stdout")]), BOTH) == []


def test_a_second_read_brings_only_what_is_new(two_streams: Run, log: LogReader) -> None:
    assert b"".join(piece.data for piece in log.read(live=True)) == b"one\nbad\ntwo\nlate\n"
    assert two_streams.folder is not None
    with (Path(two_streams.folder) / "stderr").open("ab") as file:
        file.write(b"more\n")
    assert [(piece.stream, piece.data) for piece in log.read(live=True)] == [("stderr", b"more\n")]


def test_bytes_without_a_time_wait_where_times_are_asked_for(log: LogReader) -> None:
    assert b"".join(piece.data for piece in log.read(live=True, only_stamped=True)) == b"one\nbad\ntwo\n"
    assert b"".join(piece.data for piece in log.read(live=False)) == b"late\n"


def test_output_that_was_compressed_since_is_unpacked(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % number for number in range(100_000))
    packed = gzip.compress(data)
    run = make_run(tmp_path, [captured("stdout")], stdout_gz=packed)
    assert read_all(run) == data
    assert read_all(run, last=1) == b"line 99999\n"
    assert run.folder is not None
    (Path(run.folder) / "stdout.gz").write_bytes(packed[: len(packed) // 2])
    cut = read_all(run)
    assert data.startswith(cut)
    assert len(cut) > len(data) // 4


def test_a_captured_output_cannot_name_a_file_elsewhere(tmp_path: Path) -> None:
    outputs: list[dict[str, object]] = [
        {"stream": "stdout", "mode": "captured", "path": "/etc/passwd", "offset": 0},
        {"stream": "stderr", "mode": "captured", "path": "../../../secret", "offset": 0},
    ]
    (tmp_path / "secret").write_text("x")
    assert logs.channels(make_run(tmp_path, outputs), BOTH) == []


def test_a_run_is_live_while_its_recorder_is(tmp_path: Path) -> None:
    live = folders.write_run(tmp_path, seconds=1, ended=False, start=folders.this_recorder())
    assert logs.is_live(reader.read_run(live))
    folders.append(live / "run.jsonl", folders.end_record(1))
    assert not logs.is_live(reader.read_run(live))
