"""Agents whose token may only bring runs in: they learn nothing of the server's files and write only their own runs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import attacks, folders
from support.routes import (
    SECRET,
    Asking,
    attacked,
    bearer,
    description,
    files_below,
    made_token,
    sync,
    told_by_the_application,
    told_nothing,
    wait_for,
)
from support.server import Served
from support.wire import Wire


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attack")


@pytest.fixture(scope="module")
def served(place: Path) -> Iterator[Served]:
    with attacked(place) as found:
        yield found


@pytest.fixture(scope="module")
def askings(tmp_path_factory: pytest.TempPathFactory) -> list[Asking]:
    return description(told_by_the_application(tmp_path_factory.mktemp("told") / "home"))


@pytest.fixture
def wire(served: Served) -> Iterator[Wire]:
    with Wire(served.url) as found:
        yield found


def outputs_in(target: str) -> list[dict[str, object]]:
    """Say in every way that a run's output is another file."""
    return [
        {"stream": "stdout", "mode": "inherited", "path": target, "offset": 0},
        {"stream": "stderr", "mode": "captured", "path": target, "offset": 0},
        {"stream": "log", "mode": target, "path": target, "offset": 0},
    ]


def test_the_output_of_a_run_recorded_here_is_told(served: Served, wire: Wire, place: Path) -> None:
    """What the next test looks for can be seen: a job's own output file is read where it lies."""
    run_id = "20261116T000059Z-a77ac3"
    (place / "output").write_text(SECRET)
    folders.write_run(served.home, run_id=run_id, context={"outputs": outputs_in(str(place / "output"))})
    wait_for(served, wire, run_id)
    told = wire.ask("GET", f"/api/v1/runs/{run_id}/logs?stream=stdout", bearer(served.token))
    assert not told_nothing(served, told)


def test_an_agent_that_names_a_file_of_the_server_is_not_told_what_is_in_it(
    served: Served, wire: Wire, askings: list[Asking], place: Path
) -> None:
    agent = made_token(served, "agent", "ingest")
    routes = [one.route for one in askings if one.route.method == "GET" and one.route.parameters()]
    targets = (
        str(place / "secret"),
        str(served.home / "token"),
        "/etc/passwd",
        "../../../token",
        "synced.json",
    )
    for number, target in enumerate(targets):
        run_id = f"20261116T0000{number:02}Z-a77ac4"
        paths = {"cwd": str(place), "config": target, "config_path": target, "folder": str(place)}
        start = folders.start_record(run_id, **paths)
        context = folders.context_record(
            outputs=outputs_in(target),
            config={"path": target},
            options=paths,
            script=target,
            checkpoints=[target],
        )
        text = b"".join(map(folders.dump, (start, context, folders.end_record(1.0))))
        answer = sync(wire, run_id, agent, {"run.jsonl": text})
        assert answer.status == 200, answer.body
        wait_for(served, wire, run_id)
        for path in routes:
            for query in ("", "?stream=stdout", "?stream=stderr", "?stream=log"):
                told = wire.ask("GET", path.at(run_id=run_id, job_id=run_id) + query, bearer(served.token))
                assert told_nothing(served, told), (path, query, target)
                assert told.status < 500, (path, query, target)


@pytest.mark.parametrize(
    "attack", [*attacks.TRAVERSALS, "info.json", "synced.json", "push.json", "run.jsonl.gz"]
)
def test_an_agent_cannot_write_but_the_files_of_a_run(
    served: Served, wire: Wire, place: Path, attack: str
) -> None:
    before = files_below(place)
    names = (attack, f"{attack}/run.jsonl", f"steps.{attack}.jsonl", f"notes.{attack}.jsonl")
    for name in names:
        answer = sync(wire, "20261116T010000Z-a77ac5", bearer(served.token), {name: b"{}\n"})
        kept = re.fullmatch(r"steps(\.[A-Za-z0-9_-]{1,40}){0,3}\.jsonl", name)
        assert answer.status == (200 if kept else 400), (name, answer.body)
    grown = files_below(place) - before
    assert all("/20261116T010000Z-a77ac5" in path for path in grown)


def test_an_agent_cannot_touch_the_runs_of_others(served: Served, wire: Wire) -> None:
    first, second = made_token(served, "first", "ingest"), made_token(served, "second", "ingest")
    text = folders.dump(folders.start_record("20261116T020000Z-a77ac6"))
    assert sync(wire, "20261116T020000Z-a77ac6", first, {"run.jsonl": text}).status == 200
    more = {"events.jsonl": b"{}\n"}
    assert sync(wire, "20261116T020000Z-a77ac6", second, more).status == 403
    assert sync(wire, "20261116T020000Z-a77ac6", first, more).status == 200
    # nor those that were recorded on the server itself
    assert sync(wire, folders.RUN_ID, first, more).status == 403
