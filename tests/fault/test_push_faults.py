"""Whatever becomes of server, network and follower: the job feels nothing, and no line is lost or doubled."""

import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from jobmeter.delivery import push, wire
from jobmeter.service import index
from jobmeter.service.syncing import Receiver, RefusedError, Sender
from support import commands, folders, pushing
from support.recorder import Home, wait_for
from support.server import serving

QUICK = {"JOBMETER_TOKEN": "jm_any", "JOBMETER_PUSH_INTERVAL": "0.5", "JOBMETER_PUSH_PATIENCE": "1"}
SCRIPT = "echo one; echo two >&2; sleep 0.7; echo three; exit 7"


@contextmanager
def nobody() -> Iterator[str]:
    """Give an address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


SERVERS = {
    "nobody there": nobody,
    "hangs": lambda: pushing.misbehaving(pushing.hang),
    "lies": lambda: pushing.misbehaving(pushing.lie),
    "hangs up": lambda: pushing.misbehaving(pushing.reset),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_job_does_not_feel_a_server_that(name: str, home: Home) -> None:
    with SERVERS[name]() as url:
        begun = time.monotonic()
        ran = home.run("-q", "--server", url, "--", "sh", "-c", SCRIPT, env=home.environ(**QUICK))
        assert (ran.code, ran.stdout, ran.stderr) == (7, b"one\nthree\n", b"two\n")
        assert ran.run["status"] == "failed"
        assert time.monotonic() - begun < wire.SILENCE_SECONDS
        wait_for(lambda: not pushing.followers(home.path), 30)


def test_a_follower_that_is_killed_costs_freshness_only(home: Home) -> None:
    with pushing.misbehaving(pushing.hang) as url:
        process = home.start("-q", "--server", url, "--", "sh", "-c", SCRIPT, env=home.environ(**QUICK))
        (follower,) = wait_for(lambda: pushing.followers(home.path))
        os.kill(follower, signal.SIGKILL)
        ran = home.finish(process)
    assert (ran.code, ran.stdout, ran.run["exit_code"]) == (7, b"one\nthree\n", 7)


def test_a_recorder_that_is_killed_takes_the_follower_with_it(home: Home) -> None:
    with nobody() as url:
        process = home.start("-q", "--server", url, "--", "sleep", "60", env=home.environ(**QUICK))
        wait_for(lambda: pushing.followers(home.path))
        (job,) = wait_for(
            lambda: list(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
        )
        process.kill()
        process.communicate()
        os.kill(int(job), signal.SIGKILL)
        wait_for(lambda: not pushing.followers(home.path))


def test_a_follower_is_no_part_of_the_job(home: Home) -> None:
    """It is not counted, not waited for, and holds nothing that others wait for."""
    with pushing.misbehaving(pushing.hang) as url:
        env = home.environ(**(QUICK | {"JOBMETER_PUSH_PATIENCE": "30"}))
        ran = home.run("-q", "--wait-for-children", "--server", url, "--", "true", env=env)
        assert ran.code == 0
        assert "processes_left" not in ran.run
        assert ran.run["summary"]["wait_cputime"] < 0.02
        (follower,) = pushing.followers(home.path)
        held = {os.readlink(f"/proc/{follower}/fd/{name}") for name in ("0", "1", "2")}
        assert held == {"/dev/null"}
        assert os.readlink(f"/proc/{follower}/cwd") == "/"
        os.kill(follower, signal.SIGKILL)


def test_an_answer_that_is_lost_after_the_server_took_all_doubles_nothing(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir(mode=0o700)
    folder = folders.write_run(tmp_path / "home", seconds=300)
    turns = itertools.count()
    with (
        serving(tmp_path / "served") as served,
        pushing.deaf_proxy(served.url, lambda: next(turns) % 2 == 0) as url,
    ):
        target = wire.target(url, served.token)
        lost = 0
        for size in range(3000, (folder / "usage.jsonl").stat().st_size, 40_000):
            cut = copy_up_to(folder, tmp_path / "growing", size)
            while True:
                try:
                    push.push(cut, target, closed=False)
                    break
                except push.LaterError:
                    lost += 1
        assert lost > 5
        copy = served.home / "runs" / "2026-11" / folder.name / "usage.jsonl"
        assert copy.read_bytes() == (cut / "usage.jsonl").read_bytes().rpartition(b"\n")[0] + b"\n"


def copy_up_to(folder: Path, home: Path, size: int) -> Path:
    """Write a run as it stood when its usage had so many bytes."""
    target = home / folder.name
    target.mkdir(parents=True, exist_ok=True)
    for name in ("run.jsonl", "stdout"):
        (target / name).write_bytes((folder / name).read_bytes())
    (target / "usage.jsonl").write_bytes((folder / "usage.jsonl").read_bytes()[:size])
    return target


def test_a_server_killed_again_and_again_has_every_line_once(tmp_path: Path) -> None:
    """The whole of it, fifty kills and a million points, is `bench/push.py kills`."""
    kills = int(os.environ.get("JOBMETER_TEST_KILLS", "2"))
    (tmp_path / "served").mkdir(mode=0o700)
    names = [f"20261115T095001Z-0000{number:02d}" for number in range(4)]
    sources = {name: folders.write_run(tmp_path / "home", run_id=name, seconds=600) for name in names}
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done: dict[str, int] = {}

    def grow_and_push(name: str) -> None:
        size = 2000
        whole = (sources[name] / "usage.jsonl").stat().st_size
        while size < whole or not over.is_set():
            size = min(size + 9000, whole)
            cut = copy_up_to(sources[name], tmp_path / "growing", size)
            try:
                push.push(cut, wire.target(f"http://127.0.0.1:{port}", "t" * 40), closed=size == whole)
            except push.LaterError:
                time.sleep(0.05)
        push.push(cut, wire.target(f"http://127.0.0.1:{port}", "t" * 40), closed=True)
        done[name] = size

    threads = [threading.Thread(target=grow_and_push, args=(name,)) for name in names]
    chance = random.Random(5)
    with ExitStack() as last:
        for number in range(kills + 1):
            served = last.enter_context(
                serving(tmp_path / "served", "--port", str(port), env={"JOBMETER_TOKEN": "t" * 40})
            )
            if number == 0:
                for thread in threads:
                    thread.start()
            if number < kills:
                time.sleep(0.1 + chance.random() / 2)  # kills come whenever they come
                served.stop(signal.SIGKILL)
        over.set()
        for thread in threads:
            thread.join(60)
        assert sorted(done) == names
        for name in names:
            copy = served.home / "runs" / "2026-11" / name / "usage.jsonl"
            assert copy.read_bytes() == (sources[name] / "usage.jsonl").read_bytes()
            wait_for(
                lambda name=name: (
                    served.client.get(f"/api/v1/runs/{name}").json().get("status") == "completed"
                )
            )  # type: ignore[misc]
    with index.open_index(served.home, path=tmp_path / "fresh.db") as opened:
        opened.refresh()
        fresh = {name: opened.ask(lambda store, name=name: store.statistics(name)) for name in names}  # type: ignore[misc]
    kept = json.loads(commands.jobmeter(served.home, "ls", "--json").text)
    assert sorted(run["run_id"] for run in kept) == names
    assert {name: found["wait_cputime", ""].n for name, found in fresh.items()} == dict.fromkeys(names, 600)


FULL = """
import sys, resource
from jobmeter.service.syncing import Receiver, RefusedError, Sender
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
"""


def test_a_server_without_room_takes_nothing_half_and_says_when_to_come_back(tmp_path: Path) -> None:
    script = FULL + (
        "receiver = Receiver(sys.argv[1])\n"
        "body = sys.stdin.buffer.read()\n"
        "try:\n    receiver.receive('20261115T095001Z-7f3a9c', body, Sender(name='me'))\n"
        "except RefusedError as error:\n    print(error.status, error.retry_after_seconds)\n"
    )
    lines = b'{"a": 1}\n' * 500
    ran = subprocess.run(
        [sys.executable, "-c", script, tmp_path],
        input=pushing.body(("usage.jsonl", 0, b"", lines)),
        capture_output=True,
        check=True,
    )
    assert ran.stdout == b"507 60.0\n"
    copy = tmp_path / "runs" / "2026-11" / "20261115T095001Z-7f3a9c" / "usage.jsonl"
    assert copy.read_bytes() == b""
    receiver = Receiver(str(tmp_path))
    request = pushing.body(("usage.jsonl", 0, b"", lines))
    assert receiver.receive("20261115T095001Z-7f3a9c", request, Sender(name="me")) == {"usage.jsonl": 4500}


def test_a_home_that_cannot_be_written_refuses_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    with pytest.raises(RefusedError, match="cannot keep it"):
        Receiver(str(tmp_path)).receive(
            "20261115T095001Z-7f3a9c", pushing.body(("stdout", 0, b"", b"x")), Sender(name="me")
        )


def test_a_server_that_is_busy_is_asked_again_when_it_said(tmp_path: Path) -> None:
    answers = iter(
        [
            b"HTTP/1.1 429 Later\r\nRetry-After: 7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            b"HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ]
    )

    def answer(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(next(answers))

    folder = folders.write_run(tmp_path / "home", seconds=2)
    with pushing.misbehaving(answer) as url:
        target = wire.target(url, None)
        with pytest.raises(push.LaterError) as later:
            push.push(folder, target, closed=True)
        assert later.value.retry_after_seconds == 7.0
        with pytest.raises(push.LaterError):
            push.push(folder, target, closed=True)
        with pytest.raises(push.NotTakenError, match="no reason given"):
            push.push(folder, target, closed=True)
