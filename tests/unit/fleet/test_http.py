"""Ranks behind a web server: a plain one, one with ranges and versions, and ones that fail or hang."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from jobmeter.compat.collector import MetricsCollectorConfig, TrainingMetrics, create_metrics_collector
from jobmeter.fleet.endpoint import NoGpusError
from jobmeter.fleet.http import HttpEndpoint
from jobmeter.fleet.tail import Found, Got, TargetError, Wanted
from support.eventually import eventually


class Plain(SimpleHTTPRequestHandler):
    """Python's own file server: no ranges, no versions."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name it has there
        """Say nothing."""


class Careful(BaseHTTPRequestHandler):
    """One file with an ETag, ranges honoured; also a few that are refused."""

    content = b""
    release = threading.Event()
    asked: list[str] = []  # noqa: RUF012  # set anew by every test

    def do_GET(self) -> None:  # the name it has there
        """Answer as nginx does."""
        type(self).asked.append(f"{self.path} {self.headers['Range']}")
        refusals = {"/secret": 403, "/gone": 410, "/sick": 500}
        if self.path in refusals:
            self.send_error(refusals[self.path])
            return
        if self.path == "/hang":
            type(self).release.wait(30)
            return
        tag = f'"{len(self.content)}"'
        if self.headers["If-None-Match"] == tag:
            self._head(304, b"", tag)
            return
        begin = int(self.headers["Range"].removeprefix("bytes=").partition("-")[0])
        if begin and begin >= len(self.content):
            self._head(416, b"", tag)
            return
        self._head(206, self.content[begin:], tag)

    def _head(self, code: int, body: bytes, tag: str) -> None:
        self.send_response(code)
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name it has there
        """Say nothing."""


@contextmanager
def serving(handler: object) -> Iterator[str]:
    """Run a server; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)  # type: ignore[arg-type]
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def careful() -> Iterator[str]:
    """Give a server that honours ranges."""
    Careful.content, Careful.asked, Careful.release = b"", [], threading.Event()
    with serving(Careful) as address:
        yield address
    Careful.release.set()


def ask(address: str, wanted: Wanted) -> Got:
    async def main() -> Got:
        (got,) = await HttpEndpoint(address, 2).read([wanted])
        return got

    return asyncio.run(main())


def test_ranks_of_a_plain_file_server_are_collected_each_step_once(tmp_path: Path) -> None:
    async def main(address: str) -> None:
        config = MetricsCollectorConfig(collection_interval=0.03)
        collector = create_metrics_collector({"0-1": f"{address}/job"}, config)
        path, log = tmp_path / "job" / "metrics_rank0.jsonl", tmp_path / "job" / "logs" / "rank_1.log"
        log.parent.mkdir(parents=True)
        await collector.start_collection("j")
        for step in range(1, 4):
            path.write_text(json.dumps({"rank": 0, "step": step, "training_loss": 1 / step}))
            with log.open("a") as file:
                file.write(
                    f"Epoch [1/3] Step [{step}/9] Loss: 0.5000 LR: 1.99e-04 Throughput: 15.00 tokens/s\n"
                )
            await eventually(lambda step=step: newest(collector.get_latest_metrics("j", 0)) == step)
            await eventually(lambda step=step: newest(collector.get_latest_metrics("j", 1)) == step)
        await collector.stop()
        assert [one.step for one in collector.get_history("j", 0)] == [1, 2, 3]
        assert [one.step for one in collector.get_history("j", 1)] == [1, 2, 3]

    with serving(partial(Plain, directory=str(tmp_path))) as address:
        asyncio.run(main(address))


def newest(sample: object) -> int | None:
    return sample.step if isinstance(sample, TrainingMetrics) else None


def test_only_the_piece_that_is_wanted_is_sent_where_the_server_can(careful: str) -> None:
    Careful.content = b"x" * 5000 + b"new"
    got = ask(careful, Wanted(("/log",), 4096, 8192))
    assert (got.found, got.data) == (Found.HERE, b"x" * 904 + b"new")
    assert Careful.asked == ["/log bytes=4096-12287"]
    assert ask(careful, Wanted(("/log",), 8192)).data == b""


def test_what_the_server_says_is_unchanged_is_not_sent_again(careful: str) -> None:
    Careful.content = b"{}"
    got = ask(careful, Wanted(("/m.json",)))
    assert got.validator == '"2"'
    assert ask(careful, Wanted(("/m.json",), validator=got.validator)).found is Found.UNCHANGED


def test_a_server_without_ranges_is_read_past_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"a" * 4096 + b"new")
    with serving(partial(Plain, directory=str(tmp_path))) as address:
        assert ask(address, Wanted(("/no", "/log"), 4096)) == Got(Found.HERE, "/log", b"new")


def test_missing_and_refused_are_two_things(careful: str) -> None:
    assert ask(careful, Wanted(("/gone",))).found is Found.MISSING
    refused = ask(careful, Wanted(("/secret",)))
    assert (refused.found, refused.reason) == (Found.UNREADABLE, "the server says 403 Forbidden")


def test_a_server_that_fails_or_is_not_there_is_an_error(careful: str) -> None:
    with pytest.raises(TargetError, match=r"the server says 500 Internal Server Error"):
        ask(careful, Wanted(("/sick",)))
    with pytest.raises(TargetError, match=r"http://127\.0\.0\.1:1: connection refused"):
        ask("http://127.0.0.1:1", Wanted(("/x",)))


def test_a_server_that_hangs_is_given_up(careful: str) -> None:
    async def main() -> None:
        config = MetricsCollectorConfig(collection_interval=0.05, collection_timeout=0.2)
        collector = create_metrics_collector({0: {"target": careful, "metrics_file": "hang"}}, config)
        await collector.start_collection("j")
        await eventually(lambda: collector.get_statistics()["circuit_breakers_open"] == 1)
        Careful.release.set()
        await collector.stop()

    asyncio.run(main())


def test_a_web_server_has_no_gpus() -> None:
    with pytest.raises(NoGpusError):
        asyncio.run(HttpEndpoint("http://127.0.0.1:1", 1).gpus())
