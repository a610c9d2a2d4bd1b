"""The live stream of a real server while a real job runs."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from jobmeter.service import live
from support import commands, server, streams
from support.server import Served

READERS = 200
JOB = "import sys, time\nfor second in range(int(sys.argv[1])): print('line', second, flush=True); time.sleep(1)"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with server.serving(tmp_path_factory.mktemp("stream") / "home") as found:
        yield found


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with server.serving(tmp_path / "home") as found:
        yield found


def run_job(home: Path, *arguments: str, seconds: int = 1) -> str:
    """Run a job of some seconds and give the id of its run."""
    job = [sys.executable, "-c", JOB, str(seconds)]
    command = [*commands.COMMAND, "run", "--capture", "all", *arguments, "--", *job]
    done = subprocess.run(command, env=commands.environment(home), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr.decode().split()[-1]


def stopped_reader(served: Served) -> socket.socket:
    """Open a stream through the smallest window there is and never read from it."""
    parts = urlsplit(served.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    connection.connect((parts.hostname, parts.port))
    connection.sendall(streams.request(served.url, served.token))
    return connection


async def heard_by_many(served: Served, ears: list[streams.Ear], job: "asyncio.Future[None]") -> None:
    ready = asyncio.Semaphore(0)
    readers = [
        asyncio.ensure_future(streams.listen(served.url, served.token, ear, ready.release)) for ear in ears
    ]
    for _ in ears:
        await ready.acquire()
    await job
    while not all(ear.has(b'"status":"completed"') for ear in ears):
        await asyncio.sleep(0.02)
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)


def test_every_sample_reaches_two_hundred_readers_within_two_seconds(served: Served) -> None:
    ears = [streams.Ear() for _ in range(READERS)]

    async def scene() -> None:
        job = asyncio.get_running_loop().create_future()
        listening = asyncio.ensure_future(heard_by_many(served, ears, job))
        await asyncio.to_thread(run_job, served.home, seconds=4)
        job.set_result(None)
        await asyncio.wait_for(listening, 60)

    with stopped_reader(served):
        asyncio.run(scene())
    [usage] = served.home.glob("runs/*/*/usage.jsonl")
    told = [ear.heard() for ear in ears]
    assert max(delay for heard in told for delay in streams.delays(usage, heard)) <= 2.0
    assert {tuple(one.event_id for one in heard) for heard in told} == {
        tuple(one.event_id for one in told[0])
    }


def test_a_run_is_told_from_its_start_to_its_end(shared: Served) -> None:
    told: list[streams.Heard] = []
    with streams.following(shared.client) as heard:
        assert next(heard).kind == "hello"
        run_job(shared.home, "--name", "told", "--project", "vision", seconds=2)
        while not told or told[-1].data.get("status") != "completed":
            told.append(next(heard))
        told += [next(heard)]
    assert told[0].data["name"] == "told"
    assert told[0].data["status"] == "running"
    assert {one.kind for one in told} == {"run", "sample", "log"}
    [*_, log] = [one.data["streams"] for one in told if one.kind == "log"]
    assert log["stdout"]["to"] == len("line 0\nline 1\n")  # type: ignore[index, call-overload]


def test_a_reader_that_lost_its_connection_goes_on_where_it_was(shared: Served) -> None:
    with streams.following(shared.client) as heard:
        next(heard)
        run_job(shared.home)
        first, *missed = next(heard), next(heard), next(heard)
    headers, params = {"Last-Event-ID": first.event_id}, {"last_event_id": first.event_id}
    for resume in ({"headers": headers}, {"params": params}):
        with streams.following(shared.client, **resume) as heard:
            assert next(heard).kind == "hello"
            assert [next(heard).event_id, next(heard).event_id] == [one.event_id for one in missed]


def test_after_a_restart_a_reader_is_told_to_catch_up(shared: Served) -> None:
    with streams.following(shared.client, headers={"Last-Event-ID": "0badcafe-17"}) as heard:
        hello, reset = next(heard), next(heard)
    assert (hello.kind, reset.kind) == ("hello", "reset")
    assert reset.event_id == hello.event_id


def test_one_run_or_project_is_followed_alone(shared: Served) -> None:
    run_id = run_job(shared.home, "--project", "alone")
    paths = (f"/api/v1/runs/{run_id}/stream", f"/api/v1/stream?runs={run_id}", "/api/v1/stream?project=alone")
    with ExitStack() as stack:
        heard = [stack.enter_context(streams.following(shared.client, path)) for path in paths]
        assert [next(one).kind for one in heard] == ["hello"] * 3
        run_job(shared.home, "--name", "another")
        commands.jobmeter(shared.home, "tag", run_id, "mine=1")
        for stream in heard:
            told = [next(stream)]
            while "tags" not in told[-1].data:
                told.append(next(stream))
            assert {one.data["run_id"] for one in told} == {run_id}
            assert told[-1].data["tags"] == {"mine": "1"}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/runs/20261116T000000Z-aaaaaa/stream", 404),
        ("/api/v1/runs/no%20id/stream", 400),
        ("/api/v1/stream?runs=a,..", 400),
        ("/api/v1/stream?runs=" + ",".join(f"r{n}" for n in range(201)), 400),
    ],
)
def test_a_run_that_cannot_be_is_refused(shared: Served, path: str, status: int) -> None:
    answer = shared.client.get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_token_has_only_so_many_streams(shared: Served) -> None:
    with ExitStack() as stack:
        for _ in range(live.READERS_OF_ONE):
            reader = stack.enter_context(closing(stopped_reader(shared)))
            assert reader.recv(12) == b"HTTP/1.1 200"
        refused = shared.client.get(streams.ALL_RUNS)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
    # the server learns a moment later that they left
    deadline = time.monotonic() + 20
    told = b""
    while told != b"HTTP/1.1 200":
        assert time.monotonic() < deadline
        with closing(stopped_reader(shared)) as again:
            told = again.recv(12)


def test_a_stream_ends_when_its_token_is_revoked(shared: Served) -> None:
    made = commands.jobmeter(shared.home, "token", "create", "guest", "--json")
    headers = {"authorization": f"Bearer {json.loads(made.text)['token']}"}
    ended = threading.Event()

    def follow() -> None:
        with streams.following(shared.client, headers=headers) as heard:
            for one in heard:
                if one.kind == "hello":
                    commands.jobmeter(shared.home, "token", "revoke", "guest")
        ended.set()

    reader = threading.Thread(target=follow)
    reader.start()
    run_job(shared.home, seconds=7)
    assert ended.wait(15)
    reader.join()


def test_the_server_stops_though_one_reader_never_reads(served: Served) -> None:
    with closing(stopped_reader(served)) as stopped, streams.following(served.client) as heard:
        next(heard)
        for _ in range(3):
            run_job(served.home, "--name", "n" * 60_000)
        served.process.send_signal(signal.SIGTERM)
        with suppress(httpx.HTTPError):
            assert [one.kind for one in heard if one.kind not in ("run", "sample", "log")] == []
        served.process.wait(30)
        assert stopped.recv(12) == b"HTTP/1.1 200"
