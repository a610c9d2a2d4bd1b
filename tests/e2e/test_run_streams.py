"""What goes in and comes out of a job passes through untouched: bytes, arguments, environment, descriptors."""

import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from datetime import datetime
from pathlib import Path

import pytest

from support.recorder import JOBMETER, Home, leave, lines, records, sampled, wait_for

MIB = 1 << 20
RANDOM = random.Random(7).randbytes(5 * MIB)
TO_BOTH = """
import sys, threading
data = sys.stdin.buffer.read()
def give(stream, part):
    for at in range(0, len(part), 7919): stream.write(part[at:at + 7919])
    stream.flush()
other = threading.Thread(target=give, args=(sys.stderr.buffer, data[::-1]))
other.start(); give(sys.stdout.buffer, data); other.join()
"""


def test_bytes_pass_exactly_through_pipes(home: Home) -> None:
    done = home.run("-q", sys.executable, "-c", TO_BOTH, stdin=RANDOM)
    assert done.code == 0
    assert done.stdout == RANDOM
    assert done.stderr == RANDOM[::-1]
    assert (done.folder / "stdout").read_bytes() == RANDOM
    assert (done.folder / "stderr").read_bytes() == RANDOM[::-1]
    assert [(o["stream"], o["mode"], o["path"]) for o in done.run["outputs"]] == [
        ("stdout", "captured", "stdout"),
        ("stderr", "captured", "stderr"),
    ]


@pytest.mark.parametrize("size", [0, 1, 65536, 300_000])
def test_the_index_reaches_the_last_byte(size: int, home: Home) -> None:
    """What a job writes just before it ends has arrived too."""
    done = home.run("-q", "head", "-c", str(size), "/dev/zero")
    assert len(done.stdout) == size
    last = [offset for stream, offset, _ in lines(done.folder / "output.index") if stream == "stdout"][-1:]
    assert last == ([size] if size else [])


def test_a_line_has_its_own_time_though_it_came_right_behind_one_of_the_other_stream(home: Home) -> None:
    script = (
        "import os, time\nfor n in range(8): os.write(1, b'out\\n')\nos.write(2, b'bad\\n')\nbegan = time.time()\n"
        "time.sleep(3)\nos.write(2, b'%.3f\\n' % began)"
    )
    done = home.run("-q", sys.executable, "-S", "-c", script)
    marks = {(stream, offset): moment for stream, offset, moment in lines(done.folder / "output.index")}
    arrived = datetime.fromisoformat(marks["stderr", 4]).timestamp()
    assert abs(arrived - float(done.stderr.split()[1])) < 2
    assert list(marks.values()) == sorted(marks.values())


def test_bytes_pass_exactly_through_files(home: Home, tmp_path: Path) -> None:
    """A file is inherited, not copied: what the job writes is in it before we look."""
    (tmp_path / "in").write_bytes(RANDOM)
    inner = "import os; os.write(2, b'%d' % os.fstat(1).st_ino); os.execvp('cat', ['cat'])"
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        target.write(b"before\n")
        target.flush()
        done = home.finish(home.start("-q", sys.executable, "-c", inner, stdin=source, stdout=target))
    assert done.code == 0
    assert (tmp_path / "out").read_bytes() == b"before\n" + RANDOM
    assert int(done.stderr) == (tmp_path / "out").stat().st_ino
    assert not (done.folder / "stdout").exists()
    row = {"stream": "stdout", "mode": "inherited", "path": f"{tmp_path}/out", "offset": 7}
    assert row in records(done.folder)["context"]["outputs"]
    proof = {"end": 7 + len(RANDOM), "crc32": zlib.crc32(RANDOM[-4096:])}
    assert row | proof in done.run["outputs"]
    index = [offset for stream, offset, _ in lines(done.folder / "output.index") if stream == "stdout"]
    assert index[-1] == 7 + len(RANDOM)


def test_a_log_that_is_appended_to_is_indexed_from_its_end(home: Home, tmp_path: Path) -> None:
    log = tmp_path / "slurm-17.out"
    log.write_bytes(b"earlier job\n" * 100)
    with log.open("ab") as target:
        done = home.run(
            "-q", "sh", "-c", "sleep 0.3; echo one; sleep 0.2; echo two", stdout=target, stderr=target
        )
    assert log.read_bytes() == b"earlier job\n" * 100 + b"one\ntwo\n"
    (row,) = done.run["outputs"]
    assert (row["mode"], row["path"], row["offset"], row["end"]) == ("inherited", str(log), 1200, 1208)
    assert row["crc32"] == zlib.crc32(b"one\ntwo\n")
    offsets = [offset for stream, offset, _ in lines(done.folder / "output.index")]
    assert offsets == sorted(offsets)
    assert offsets[-1] == 1208
    assert min(offsets) > 1200


def test_one_pipe_for_both_streams_keeps_their_order(home: Home) -> None:
    script = "import os\nfor n in range(3000): os.write(1 + n % 2, b'%d\\n' % n)"
    done = home.run("-q", sys.executable, "-c", script, stderr=subprocess.STDOUT)
    expected = b"".join(b"%d\n" % n for n in range(3000))
    assert done.stdout == expected
    assert (done.folder / "stdout").read_bytes() == expected
    assert not (done.folder / "stderr").exists()
    assert [o["stream"] for o in done.run["outputs"]] == ["stdout"]


AWKWARD: list[bytes] = [
    b"",
    b" ",
    b"a b  c",
    b"new\nline\r\n",
    b"\xff\xfe not utf-8 \xc3(",
    "snö ☃ 🎲".encode(),
    b"--name",
    b"--",
    b"-",
    b"$HOME `id` * ? ~ \\ ' \"",
    b"\x01\x1b[31m\x7f",
    b"k=v",
    b"",
]
SHOW_ARGV = "import sys, os; [os.write(1, os.fsencode(a) + b'\\0') for a in sys.argv[1:]]"


def test_arguments_reach_the_job_untouched(home: Home) -> None:
    done = home.run("-q", sys.executable, "-c", SHOW_ARGV, *AWKWARD)
    assert done.stdout.split(b"\0")[:-1] == AWKWARD
    recorded = done.run["command"][3:]
    assert [word.encode("utf-8", "surrogateescape") for word in recorded] == AWKWARD


def test_options_end_where_the_command_begins(home: Home) -> None:
    done = home.run("-q", "--", "echo", "--name", "x", "--")
    assert done.stdout == b"--name x --\n"


def test_a_command_line_at_the_kernels_limit_still_runs(home: Home) -> None:
    """Two megabytes of arguments, as `find | xargs` gives them: recorded in part, with a mark."""
    room = min(resource.getrlimit(resource.RLIMIT_STACK)[0] // 4, 6 * MIB)
    env = {"JOBMETER_HOME": str(home.path), "PATH": os.environ["PATH"]}
    words = [b"x" * 1000 for _ in range((room - 8192) // (1001 + 8))]
    done = home.run("-q", "/usr/bin/printf", "%.0s", *words, env=env)
    assert (done.code, done.stdout) == (0, b"")
    command = done.run["command"]
    assert sum(map(len, command)) < 70_000
    assert command[-1].endswith("arguments more]")
    assert (done.folder / "run.jsonl").stat().st_size < 200_000


def test_the_environment_reaches_the_job_unchanged(home: Home) -> None:
    env = {
        b"JOBMETER_HOME": os.fsencode(home.path),
        b"EMPTY": b"",
        b"BYTES": b"\xff\n=",
        b"PATH": b"/usr/bin",
    }
    dump = ["sh", "-c", "cat /proc/$$/environ"]
    plain = subprocess.run(dump, env=env, capture_output=True, check=True).stdout
    assert home.run("-q", *dump, env=env).stdout == plain


@pytest.mark.parametrize(
    "locale", [{}, {"LC_CTYPE": "C"}, {"LC_CTYPE": "C.UTF-8"}, {"LANG": "C"}, {"LC_ALL": "POSIX"}]
)
def test_the_locale_of_the_job_is_the_callers(locale: dict[str, str], home: Home) -> None:
    """Python exports another LC_CTYPE where it finds the C locale."""
    env = {"JOBMETER_HOME": str(home.path), "PATH": os.environ["PATH"], **locale}
    shown = home.run("-q", "env", env=env).stdout.decode().splitlines()
    assert sorted(shown) == sorted(f"{name}={value}" for name, value in env.items())


STATE = """
import os, resource, signal, json, sys
# 32 and 33 are the C library's own: whatever posix_spawn starts (make, system()) has them ignored until it needs them
OWN = 0b11 << 31
def mask(line): return line[:6], int(line[7:], 16) & ~OWN
print(json.dumps({
    'cwd': os.getcwd(), 'umask': os.umask(0), 'nice': os.nice(0),
    'nofile': resource.getrlimit(resource.RLIMIT_NOFILE), 'core': resource.getrlimit(resource.RLIMIT_CORE),
    'masked': sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), 'session': os.getsid(0),
    'open': [int(fd) for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd)],
    'signals': [mask(line) for line in open('/proc/self/status') if line.startswith(('SigIgn', 'SigBlk'))],
    'affinity': sorted(os.sched_getaffinity(0)),
}))
"""


def test_everything_else_a_job_can_see_of_itself_is_unchanged(home: Home, tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-c", STATE]

    def prepare() -> None:
        os.umask(0o027)
        os.nice(3)
        resource.setrlimit(resource.RLIMIT_NOFILE, (777, 777))

    plain = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path, preexec_fn=prepare)
    done = home.run("-q", *command, cwd=tmp_path, preexec_fn=prepare)
    assert json.loads(done.stdout) == json.loads(plain.stdout)


def test_inherited_descriptors_stay_open_as_make_and_process_substitution_need(home: Home) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    os.set_inheritable(writer, True)
    os.write(writer, b"+token")
    script = f"import os; t = os.read({reader}, 6); os.write({writer}, t[::-1]); os.write(1, t)"
    done = home.run("-q", sys.executable, "-c", script, close_fds=False)
    assert done.stdout == b"+token"
    assert os.read(reader, 6) == b"nekot+"
    substituted = subprocess.run(
        ["bash", "-c", f"{' '.join(JOBMETER)} run -q cat <(echo from a process)"],
        env=home.environ(),
        capture_output=True,
        check=True,
    )
    assert substituted.stdout == b"from a process\n"


def test_no_descriptor_of_ours_reaches_the_job(home: Home) -> None:
    done = home.run("-q", sys.executable, "-S", "-c", "import os; print(os.listdir('/proc/self/fd'))")
    assert done.stdout == b"['0', '1', '2', '3']\n"  # 3 is the listing itself


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (1, 2), (0, 1, 2)])
def test_what_the_caller_closed_the_job_finds_closed(
    closed: tuple[int, ...], home: Home, tmp_path: Path
) -> None:
    shut = " ".join({0: "<&-", 1: ">&-", 2: "2>&-"}[fd] for fd in closed)
    script = (
        f"import os, sys; open({str(tmp_path / 'seen')!r}, 'w').write(' '.join(os.listdir('/proc/self/fd')))"
    )
    line = f'exec {" ".join(JOBMETER)} run {sys.executable} -S -c "$1; sys.exit(6)" {shut}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", script], env=home.environ(), capture_output=True, check=False
    )
    assert done.returncode == 6
    # the script opens its file and the listing, which take the lowest free numbers
    free = [str(fd) for fd in range(9) if fd in closed or fd > 2][:2]
    assert sorted((tmp_path / "seen").read_text().split()) == sorted(
        [str(fd) for fd in range(3) if fd not in closed] + free
    )
    (folder,) = home.folders()
    assert records(folder)["end"]["exit_code"] == 6
    for name in ("run.jsonl", "usage.jsonl", "events.jsonl", "output.index"):
        lines(folder / name)


def test_a_closed_reader_ends_the_job_as_a_plain_pipe_would(home: Home) -> None:
    process = home.start("-q", "yes")
    assert process.stdout is not None
    assert process.stdout.read(4) == b"y\ny\n"
    process.stdout.close()
    process.stdout = None
    assert home.finish(process).code == 141
    end = records(home.folders()[0])["end"]
    assert (end["status"], end["signal"]) == ("killed", "SIGPIPE")


def test_a_job_that_ignores_the_broken_pipe_sees_its_error(home: Home) -> None:
    script = """
import os
try:
    while True: os.write(1, b'y')
except BrokenPipeError:
    os.write(2, b'told'); os._exit(7)
"""
    process = home.start("-q", sys.executable, "-c", script)
    assert process.stdout is not None
    process.stdout.read(4)
    process.stdout.close()
    process.stdout = None
    done = home.finish(process)
    assert (done.code, done.stderr) == (7, b"told")


def test_the_job_has_the_default_action_for_a_broken_pipe(home: Home) -> None:
    done = home.run("-q", "grep", "SigIgn", "/proc/self/status")
    assert int(done.stdout.split()[1], 16) & (1 << 12) == 0


def rss_kib(pid: int) -> int:
    """Read the largest size a process had; one that just ended has none any more."""
    words = Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()
    return int(words[0]) if words else 0


def test_a_slow_reader_slows_the_job_and_not_our_memory(home: Home) -> None:
    size = 300_000_000
    process = home.start(
        "-q", "head", "-c", str(size), "/dev/zero", env=Home(home.path, traced=False).environ()
    )
    assert process.stdout is not None
    folder = wait_for(lambda: sampled(home.path))
    time.sleep(1.5)  # a slow reader is what is tested
    assert (folder / "stdout").stat().st_size < MIB
    assert process.poll() is None
    read = peak_kib = 0
    while chunk := process.stdout.read1(MIB):
        assert chunk.count(0) == len(chunk)
        read += len(chunk)
        peak_kib = max(peak_kib, rss_kib(process.pid))
    assert process.wait() == 0
    leave(process)
    assert read == size == (folder / "stdout").stat().st_size
    (folder / "stdout").unlink()
    assert 0 < peak_kib < 24 * 1024


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_recorder_that_waits_for_its_reader_can_be_ended(number: signal.Signals, home: Home) -> None:
    """The job is over, its last bytes are still with us, and nobody reads."""
    process = home.start("-q", "head", "-c", "130000", "/dev/zero")
    wait_for(lambda: home.folders() and "end" in records(home.folders()[0]))
    assert lines(home.folders()[0] / "output.index")[-1][:2] == ["stdout", 130000]
    assert (home.folders()[0] / "stdout").stat().st_size == 130000
    process.send_signal(number)
    assert process.wait(5) == -number
    assert len(process.communicate()[0]) == 65536


def test_a_background_child_keeps_its_output_after_the_command_ended(home: Home) -> None:
    process = home.start(
        "-q", "sh", "-c", "(sleep 4; echo late; sleep 0.02; echo later) & echo early; exit 3"
    )
    assert process.wait(30) == 3
    (folder,) = home.folders()
    end = records(folder)["end"]
    assert end["exit_code"] == 3
    assert end["wall_seconds"] < 3
    assert process.communicate(timeout=30)[0] == b"early\nlate\nlater\n"
    assert (folder / "stdout").read_bytes() == b"early\nlate\nlater\n"
    assert lines(folder / "output.index")[-1][:2] == ["stdout", 17]


def test_a_stream_that_no_child_holds_is_closed_at_once(home: Home) -> None:
    """The child writes to stderr only: who reads stdout must not wait for it."""
    process = home.start("-q", "sh", "-c", "sleep 60 >/dev/null & echo done")
    assert process.stdout is not None
    began = time.monotonic()
    assert process.stdout.read() == b"done\n"
    assert time.monotonic() - began < 30
    leave(process)


@pytest.mark.parametrize(
    ("wanted", "kept", "missing"),
    [
        ("auto", {"stdout", "stderr"}, set()),
        ("all", {"stdout", "stderr"}, set()),
        ("stdout", {"stdout"}, {"stderr"}),
        ("stderr", {"stderr"}, {"stdout"}),
        ("none", set(), {"stdout", "stderr"}),
    ],
)
def test_only_the_wanted_output_is_kept(wanted: str, kept: set[str], missing: set[str], home: Home) -> None:
    done = home.run("-q", "--capture", wanted, "sh", "-c", "echo out; echo err >&2")
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")
    assert {name for name in ("stdout", "stderr") if (done.folder / name).exists()} == kept
    assert {output["stream"] for output in done.run["outputs"]} == kept
    assert {name for name in done.run["provenance"]["missing"] if name.startswith("std")} == missing


def test_uncaptured_output_goes_straight_to_the_reader(home: Home) -> None:
    """The job's own pipe is the caller's: nothing of ours lies between."""
    reader, writer = os.pipe()
    inner = "import os; os.write(2, b'%d' % os.fstat(1).st_ino)"
    with os.fdopen(reader), os.fdopen(writer, "wb") as target:
        done = home.run("-q", "--capture", "stderr", sys.executable, "-c", inner, stdout=target)
        assert int(done.stderr) == os.fstat(writer).st_ino


def test_output_thrown_away_on_purpose_is_kept_only_when_asked_for(home: Home, tmp_path: Path) -> None:
    done = home.run("-q", "echo", "x", stdout=subprocess.DEVNULL)
    assert not (done.folder / "stdout").exists()
    asked = Home(tmp_path / "asked").run("-q", "--capture", "all", "echo", "x", stdout=subprocess.DEVNULL)
    assert (asked.folder / "stdout").read_bytes() == b"x\n"


def test_a_socket_is_relayed_like_a_pipe(home: Home) -> None:
    ours, theirs = socket.socketpair()
    received: list[bytes] = []

    def receive() -> None:
        while chunk := ours.recv(65536):
            received.append(chunk)

    reader = threading.Thread(target=receive)
    reader.start()
    with theirs:
        done = home.run("-q", "cat", stdin=RANDOM, stdout=theirs)
    reader.join()
    ours.close()
    assert done.code == 0
    assert b"".join(received) == RANDOM
