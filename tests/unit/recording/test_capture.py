"""Relaying an output by hand: full readers, gone readers, full disks, and what becomes of each descriptor."""

import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.model import run
from jobmeter.recording import capture
from jobmeter.recording.terminal import Terminal

NOBODY = Terminal(None)


class Relay:
    """A channel between a pipe the job writes to and a pipe our reader reads from."""

    def __init__(self, copy: int | None) -> None:
        source, self.job = os.pipe()
        self.reader, sink = os.pipe()
        self.channel = capture.Channel("stdout", source, self.job, sink, copy=copy, is_pty=False)
        os.close(sink)

    def close(self) -> None:
        self.channel.close_source()
        self.channel.close_sink()
        for fd in (self.job, self.reader):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    """Give a relay that keeps a copy."""
    made = Relay(os.open(tmp_path / "stdout", os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    yield made
    made.close()


def test_what_the_job_writes_is_passed_on_and_kept(relay: Relay, tmp_path: Path) -> None:
    assert relay.channel.pull() is False  # nothing there yet
    os.write(relay.job, b"hello")
    assert relay.channel.pull() is True
    assert os.read(relay.reader, 100) == b"hello"
    assert (tmp_path / "stdout").read_bytes() == b"hello"
    assert (relay.channel.captured, relay.channel.lost, relay.channel.blocked) == (5, 0, False)


def test_the_end_of_the_job_ends_the_channel(relay: Relay) -> None:
    relay.channel.close_job_end()
    relay.channel.close_job_end()
    relay.job = -1
    assert relay.channel.open
    assert relay.channel.pull() is False
    assert not relay.channel.open


def test_a_reader_that_is_behind_blocks_the_job_and_not_us(relay: Relay) -> None:
    os.set_blocking(relay.job, False)
    written = 0
    while not relay.channel.blocked:
        written += os.write(relay.job, b"x" * 4096)
        relay.channel.pull()
    before = relay.channel.captured
    assert before == written
    relay.channel.push()
    assert relay.channel.blocked
    read = b""
    while relay.channel.blocked:
        read += os.read(relay.reader, 65536)
        relay.channel.push()
    read += os.read(relay.reader, 65536)
    assert len(read) == written


def test_a_reader_that_is_gone_closes_the_jobs_pipe(relay: Relay) -> None:
    os.close(relay.reader)
    relay.reader = -1
    os.write(relay.job, b"x")
    assert relay.channel.pull() is True
    assert not relay.channel.open
    assert not relay.channel.blocked
    with pytest.raises(BrokenPipeError):
        os.write(relay.job, b"y")


def test_what_is_left_when_the_job_ends_is_kept_before_it_is_passed_on(relay: Relay, tmp_path: Path) -> None:
    os.set_blocking(relay.job, False)
    while not relay.channel.blocked:
        os.write(relay.job, b"x" * 4096)
        relay.channel.pull()
    os.write(relay.job, b"y" * 60_000)
    relay.channel.drain()
    assert (tmp_path / "stdout").read_bytes().endswith(b"y" * 60_000)
    assert relay.channel.captured == (tmp_path / "stdout").stat().st_size
    assert relay.channel.blocked


def test_a_copy_that_could_not_be_made_counts_every_byte_as_lost() -> None:
    relay = Relay(None)
    for text in (b"12345", b"678"):
        os.write(relay.job, text)
        relay.channel.pull()
    assert os.read(relay.reader, 100) == b"12345678"
    assert (relay.channel.captured, relay.channel.lost) == (0, 8)
    relay.close()


def test_a_copy_the_disk_refuses_ends_and_counts_the_rest() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    relay = Relay(full)
    for text in (b"12345", b"678"):
        os.write(relay.job, text)
        relay.channel.pull()
    assert os.read(relay.reader, 100) == b"12345678"
    assert (relay.channel.captured, relay.channel.lost) == (0, 8)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(full)
    relay.close()


CHOICES = """
import os, sys
from jobmeter.recording import capture
print([capture.choose(fd, sys.argv[1], sys.argv[2]).value for fd in (1, 2)], file=open(sys.argv[3], 'w'))
"""


@pytest.mark.parametrize(
    ("stdout", "wanted", "pty", "expected"),
    [
        ("pipe", "auto", "auto", "pipe"),
        ("pipe", "auto", "always", "pty"),
        ("pipe", "none", "always", "inherit"),
        ("pipe", "stderr", "auto", "inherit"),
        ("pipe", "stdout", "auto", "pipe"),
        ("file", "all", "always", "inherit"),
        ("null", "auto", "auto", "inherit"),
        ("null", "all", "auto", "pipe"),
        ("null", "stdout", "always", "pty"),
        ("terminal", "auto", "auto", "pty"),
        ("terminal", "auto", "never", "pipe"),
        ("terminal", "none", "auto", "inherit"),
    ],
)
def test_what_becomes_of_an_output(stdout: str, wanted: str, pty: str, expected: str, tmp_path: Path) -> None:
    master, terminal = os.openpty()
    reader, pipe = os.pipe()
    given = {
        "pipe": pipe,
        "file": os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT),
        "null": os.open(os.devnull, os.O_WRONLY),
        "terminal": terminal,
    }
    words = [sys.executable, "-c", CHOICES, wanted, pty, str(tmp_path / "said")]
    subprocess.run(words, stdout=given[stdout], stderr=subprocess.DEVNULL, check=True)
    for fd in (*given.values(), master, reader):
        os.close(fd)
    assert (tmp_path / "said").read_text().startswith(f"['{expected}', ")


def test_a_file_that_was_closed_meanwhile_stands_at_its_beginning(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT)
    os.write(fd, b"12345")
    file = capture.Inherited("stdout", fd)
    assert (file.offset, file.path, file.position()) == (5, str(tmp_path / "out"), 5)
    os.close(fd)
    assert file.position() == 0


def test_what_the_job_wrote_last_is_proved_even_if_its_file_lost_its_name(tmp_path: Path) -> None:
    path = tmp_path / "out"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"before")
    file = capture.Inherited("stdout", fd)
    os.write(fd, b"x" * 9000)
    path.unlink()
    path.write_bytes(b"another job's")
    file.indexed = file.position()
    assert file.ending() == {"end": 9006, "crc32": zlib.crc32(b"x" * 4096)}
    os.close(fd)


def test_the_proof_does_not_reach_back_before_the_job(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"before")
    file = capture.Followed("log", str(path))
    assert file.ending() == {"end": 6, "crc32": 0}
    path.write_bytes(b"before it")
    file.indexed = file.position()
    assert file.ending() == {"end": 9, "crc32": zlib.crc32(b" it")}


def test_a_file_that_cannot_be_read_any_more_proves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"12345")
    file = capture.Followed("log", str(path))
    file.offset = 0
    path.write_bytes(b"123")
    assert file.ending() == {"end": 5}
    path.unlink()
    assert file.ending() == {"end": 5}
    path.mkdir()
    assert file.ending() == {"end": 5}


def test_recorder_and_readers_prove_by_as_many_bytes() -> None:
    assert capture.PROOF_BYTES == run.PROOF_BYTES
