"""`jobmeter analyze` of a log: plain, compressed, piped, or none at all."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

LOG = b"step 1 loss 2.0\nstep 2 loss 1.0\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
NOTHING = "the job wrote nothing there: it may have printed to stderr, which 2>&1 adds"
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


@pytest.mark.parametrize(
    "line",
    [
        "analyze <(cat x.log)",
        "analyze /dev/stdin < x.log",
        "analyze /dev/stdin < <(cat x.log)",
        "analyze /dev/fd/7 7< <(gzip -c x.log)",
    ],
)
def test_what_a_shell_pipes_in_is_a_log(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.log").write_bytes(LOG)
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m jobmeter {line}"],
        env={**os.environ, "JOBMETER_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, VERDICT in done.stdout) == (0, True)


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert analyze(tmp_path, "pipe") == (
        2,
        "jobmeter: pipe is a named pipe, and may never end\nhint: pipe it in: cat pipe | jobmeter analyze -\n",
    )


@pytest.mark.parametrize(
    ("path", "kind"), [("/proc/kmsg", "a file of the kernel"), ("/dev/zero", "a device")]
)
def test_what_never_ends_is_not_read(tmp_path: Path, path: str, kind: str) -> None:
    assert analyze(tmp_path, path) == (
        2,
        f"jobmeter: {path} is {kind}, and may never end\nhint: copy what you mean into a file\n",
    )


def test_a_log_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "x.log").write_bytes(LOG)
    _, said = analyze(tmp_path, "logs/x.log")
    assert said.startswith("logs/x.log\n\nverdict ")
    assert said.count("x.log") == 1


def test_a_folder_of_logs_says_which_may_be_meant(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "config.yaml").write_text("a: 1\n")
    (tmp_path / "logs" / "empty.log").write_bytes(b"")
    for name, moment in (("old.log", 100), ("new.out", 200)):
        (tmp_path / "logs" / name).write_bytes(LOG)
        os.utime(tmp_path / "logs" / name, (moment, moment))
    assert analyze(tmp_path, "logs") == (
        2,
        (
            "jobmeter: logs is not a run folder\n"
            "hint: it holds the logs logs/new.out, logs/old.log: jobmeter analyze logs/new.out\n"
        ),
    )


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("-", b"", f"jobmeter: standard input is empty\nhint: {NOTHING}\n"),
        ("x.log", b"", f"jobmeter: x.log is empty\nhint: {NOTHING}\n"),
        ("x.log.gz", gzip.compress(b""), f"jobmeter: x.log.gz is empty\nhint: {NOTHING}\n"),
        ("/dev/null", None, f"jobmeter: /dev/null is empty\nhint: {NOTHING}\n"),
        (
            "program",
            bytes(range(256)) * 8,
            "jobmeter: program is not a text\nhint: analyze reads a run or a log, plain or gzip\n",
        ),
        ("tmp", None, "jobmeter: tmp is not a run folder\nhint: a run folder holds run.jsonl\n"),
        (
            "nothing.log",
            None,
            (
                "jobmeter: unknown run: nothing.log, and there is no file of that name\n"
                "hint: there is no run yet; record one: jobmeter run -- COMMAND\n"
            ),
        ),
        (
            "./nothing",
            None,
            "jobmeter: there is no file or folder ./nothing\nhint: see `jobmeter ls` for runs\n",
        ),
    ],
)
def test_what_is_no_log_is_refused_in_one_sentence(
    tmp_path: Path, name: str, content: bytes | None, sentence: str
) -> None:
    if content is not None and name != "-":
        (tmp_path / name).write_bytes(content)
    assert analyze(tmp_path, name) == (2, sentence)
