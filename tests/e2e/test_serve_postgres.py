"""`jobmeter serve` over PostgreSQL: two homes, two servers, one database."""

import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from support import commands, folders, postgres
from support.server import Served, serving

FIRST, SECOND = "20261115T095001Z-7f3a9c", "20261116T095001Z-aaaaaa"


@pytest.fixture
def database() -> Iterator[str]:
    with postgres.database() as url:
        yield url


def await_runs(served: Served, expected: list[str]) -> list[dict[str, object]]:
    """Ask until a server lists these runs."""
    deadline = time.monotonic() + 30
    while True:
        found: list[dict[str, object]] = served.client.get("/api/v1/runs?sort=id").json()["runs"]
        if [run["run_id"] for run in found] == expected:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def answer(served: Served, path: str) -> httpx.Response:
    found = served.client.get(path)
    assert found.status_code == 200, found.text
    return found


def test_two_servers_of_one_database_list_and_draw_the_runs_of_both_homes(
    tmp_path: Path, database: str
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    folders.write_run(one, run_id=FIRST, seconds=700)
    folders.write_run(other, run_id=SECOND, seconds=700)
    env = {"JOBMETER_DATABASE": database}
    with serving(one, env=env) as first, serving(other, env=env) as second:
        assert await_runs(first, [FIRST, SECOND]) == await_runs(second, [FIRST, SECOND])
        for path in (
            f"/api/v1/runs/{SECOND}",
            f"/api/v1/runs/{SECOND}/series?keys=wait_cputime&points=50",
            f"/api/v1/runs/{SECOND}/processes",
            "/api/v1/runs/facets?names=status,host",
        ):
            assert answer(first, path).json() == answer(second, path).json()
        told = "".join(first.complaints + second.complaints)
        assert [word for word in ("Traceback", "cannot", "lost", "warning") if word in told] == []


def test_a_stream_of_one_server_tells_what_the_other_indexes(tmp_path: Path, database: str) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    env = {"JOBMETER_DATABASE": database}
    with (
        serving(one, env=env) as first,
        serving(other, env=env) as second,
        second.client.stream("GET", "/api/v1/stream") as stream,
        ThreadPoolExecutor(1) as pool,
    ):
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("event:")) == "event: hello"
        told = pool.submit(lambda: next(line for line in lines if line.startswith("event: run")))
        # the first server learns of the reader within a moment; what it indexed before is found by reading
        known: list[str] = []
        while not told.done():
            known.append(f"{FIRST[:-3]}{len(known):03d}")
            folders.write_run(one, run_id=known[-1], seconds=2)
            await_runs(first, known)
            assert len(known) < 50
        assert told.result() == "event: run"


def refused(home: Path, *arguments: str, **env: str) -> str:
    """Give what a server says that does not start."""
    done = subprocess.run(
        [*commands.COMMAND, "serve", "--no-browser", "--port", "0", *arguments],
        env=commands.environment(home, **env),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    return done.stderr


def test_a_password_is_neither_taken_from_the_command_line_nor_told(tmp_path: Path) -> None:
    hidden = "hunter2secret"
    url = f"postgresql://ann:{hidden}@127.0.0.1:1/jobs"
    told = refused(tmp_path, "--database", url)
    assert "everybody on this machine can read the password in --database" in told
    unreachable = refused(tmp_path, JOBMETER_DATABASE=url)
    assert "cannot connect to the database jobs at 127.0.0.1:1: connection refused" in unreachable
    assert hidden not in told + unreachable
