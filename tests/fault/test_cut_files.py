"""Run folders cut, garbled or glued anywhere: every whole record is read, and nothing raises."""

import random
from pathlib import Path

import pytest

from jobmeter.model.run import Status
from jobmeter.runfolder import lines, reader
from support import folders
from support.homes import answers


def test_usage_cut_at_every_byte_gives_every_whole_record_before_the_cut(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=10, processes=2)
    file = folder / "usage.jsonl"
    text = file.read_bytes()
    # a record is whole with its last brace, the newline after it or not
    ends = [place for place, byte in enumerate(text) if byte == 10]
    expected = [window.timestamp for window in reader.read_windows(folder)]
    assert len(expected) == len(ends) == 11
    for cut in range(len(text), -1, -1):
        with file.open("r+b") as opened:
            opened.truncate(cut)
        found = [window.timestamp for window in reader.read_windows(folder)]
        assert found == expected[: sum(end <= cut for end in ends)], cut


def test_records_cut_at_every_byte_give_what_was_known_by_then(tmp_path: Path) -> None:
    context = {"measurements": [folders.definition("wait_cputime", "counter", "seconds", "job")]}
    folder = folders.write_run(tmp_path, seconds=1, start=folders.dead_recorder(), context=context)
    file = folder / "run.jsonl"
    text = file.read_bytes()
    first, second, third = (place for place, byte in enumerate(text) if byte == 10)
    for cut in range(len(text), -1, -1):
        with file.open("r+b") as opened:
            opened.truncate(cut)
        run = reader.read_run(folder, now=1e12)
        assert run.command == (("make", "-j4") if cut >= first else ()), cut
        assert run.limits.cpus == (4.0 if cut >= second else None), cut
        assert run.status is (Status.COMPLETED if cut >= third else Status.LOST), cut


@pytest.mark.parametrize("seed", range(40))
def test_garbage_between_records_costs_only_itself(tmp_path: Path, seed: int) -> None:
    folder = folders.write_run(tmp_path, seconds=20, processes=0)
    good = (folder / "usage.jsonl").read_bytes().splitlines(keepends=True)
    draw = random.Random(seed)
    bad = 0
    text = b""
    for line in good:
        if draw.random() < 0.3:
            text += draw.randbytes(draw.randrange(1, 200)).replace(b"\n", b"x") + b"\n"
            bad += 1
        text += line
    (folder / "usage.jsonl").write_bytes(text)
    window_reader = lines.WindowReader()
    assert len(window_reader.read(text.split(b"\n"))) == 20
    assert window_reader.bad == bad
    assert len(list(reader.read_windows(folder))) == 20


@pytest.mark.parametrize("seed", range(60))
def test_flipped_bytes_anywhere_never_raise(tmp_path: Path, seed: int) -> None:
    folder = folders.write_run(tmp_path, seconds=12, processes=2)
    folders.append(
        folder / "events.jsonl", {"timestamp": "2026-11-15T09:50:09Z", "type": "signal", "details": {}}
    )
    folders.append(folder / "notes.jsonl", {"type": "tag", "tags": {"a": "b"}})
    draw = random.Random(seed)
    for name in ("run.jsonl", "usage.jsonl", "events.jsonl", "notes.jsonl"):
        text = bytearray((folder / name).read_bytes())
        for _ in range(draw.randrange(1, 30)):
            text[draw.randrange(len(text))] = draw.randrange(256)
        (folder / name).write_bytes(bytes(text))
    found = answers(tmp_path, tmp_path / "index.db")
    assert folders.RUN_ID in found
