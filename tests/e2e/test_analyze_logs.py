"""`jobmeter analyze` of a log: plain, compressed, piped, or none at all."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

LOG = b"step 1 loss 2.0\nstep 2 loss 1.0\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
VERDICT = "verdict   the GPU ran out of memory"


def analyze(tmp_path: Path, ref: str, given: bytes = b"") -> tuple[int, str]:
    environ = {**os.environ, "JOBMETER_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    argv = [sys.executable, "-m", "jobmeter", "analyze", ref]
    done = subprocess.run(argv, input=given, env=environ, cwd=tmp_path, capture_output=True)
    assert list((tmp_path / "tmp").iterdir()) == []
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.log", LOG),
        ("x.log.gz", gzip.compress(LOG)),
        ("rotated", gzip.compress(LOG)),
        ("-", LOG),
        ("-", gzip.compress(LOG)),
    ],
    ids=["plain", "gzip", "gzip by its bytes", "piped", "piped gzip"],
)
def test_a_log_is_read_however_it_comes(tmp_path: Path, name: str, content: bytes) -> None:
    if name != "-":
        (tmp_path / name).write_bytes(content)
    code, said = analyze(tmp_path, name, content if name == "-" else b"")
    assert code == 0
    assert VERDICT in said
    assert said.startswith("standard input\n" if name == "-" else f"{name}\n")


def test_a_compressed_log_that_was_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    text = b"".join(b"line %d of something long enough\n" % n for n in range(100_000))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(LOG + text)[:-1000])
    code, said = analyze(tmp_path, "cut.gz")
    assert (code, "CUDA out of memory" in said) == (0, True)


def test_a_named_pipe_is_a_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen([sys.executable, "-c", f"open({str(tmp_path / 'pipe')!r}, 'wb').write({LOG!r})"]):
        code, said = analyze(tmp_path, "pipe")
    assert (code, VERDICT in said) == (0, True)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("-", b"", "jobmeter: standard input is empty\nhint: a job may have printed to stderr: add 2>&1\n"),
        (
            "program",
            bytes(range(256)) * 8,
            "jobmeter: program is not a text\nhint: analyze reads a run or a log, plain or gzip\n",
        ),
        (".", None, "jobmeter: . is not a run folder\nhint: a run folder holds run.jsonl\n"),
    ],
)
def test_what_is_no_log_is_refused_in_one_sentence(
    tmp_path: Path, name: str, content: bytes | None, sentence: str
) -> None:
    if content is not None and name != "-":
        (tmp_path / name).write_bytes(content)
    assert analyze(tmp_path, name) == (2, sentence)
