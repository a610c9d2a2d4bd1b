"""Scripts in every name that is stored: they come back as text, in JSON, in pages, in metrics and on the stream."""

import csv
import io
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from prometheus_client.parser import text_string_to_metric_families

from jobmeter.service import exporting, report_page
from support import folders, streams
from support.attacks import SCRIPTS
from support.routes import Route, attacked, bearer, table, told_by_the_application, wait_for
from support.server import Served
from support.wire import Answer, Wire

RUN = "20261116T050000Z-5c1e01"
TWIN = "20261116T050000Z-5c1e02"
MARKUP = tuple(text for text in SCRIPTS if "<" in text)


def write_named(home: Path, run_id: str, words: tuple[str, ...]) -> None:
    """Write a run whose every name is one of the words, or all of them."""
    every = " ".join(words)
    start = {
        "name": every,
        "project": every,
        "message": every,
        "group": every,
        "cwd": f"/{every}",
        "host": every,
        "tags": {word: word for word in words},
        "command": ["python", *words],
    }
    context = {
        "user": {"uid": 1000, "name": every},
        "git": {"commit": every, "branch": every},
        "environment": dict.fromkeys(("SLURM_JOB_NAME", "SLURM_JOB_PARTITION"), every),
        "provenance": {"selected": ["host_load"], "missing": {word: word for word in words}, "origin": every},
        "outputs": [{"stream": "stdout", "mode": "captured", "path": "stdout", "offset": 0}],
    }
    commands = [{"command": word, "cpu_seconds": 1.0, "peak_rss_bytes": 1, "processes": 1} for word in words]
    end = {"status": "failed", "exit_code": 1, "by_command": commands, "inexact": dict.fromkeys(words, every)}
    folder = folders.write_run(home, run_id=run_id, seconds=30, start=start, context=context, end=end)
    moment = folders.iso(folders.STARTED + 5)
    for number, word in enumerate(words):
        metrics = {"loss": 1.0 / (number + 1), word: float(number), f"train/{word}": 1.0}
        step = {"timestamp": moment, "step": number, "rank": 0, "source": "sdk", "metrics": metrics}
        folders.append(folder / "steps.jsonl", step)
        event = {"timestamp": moment, "type": word, "details": {word: word}, "config": {word: word}}
        folders.append(folder / "events.jsonl", event)
        folders.append(folder / "notes.jsonl", {"timestamp": moment, "type": "note", "text": word})
        measured = {"proc_cmd": {f"{9000 + number}@1": word}, "proc_rss": {f"{9000 + number}@1": 4096}}
        measured |= {"nvml_util": {word: 50}, "proc_cputime": {f"{9000 + number}@1": 1.0}}
        folders.append(
            folder / "usage.jsonl", {"timestamp": moment, "num_samples": 1, "measurements": measured}
        )
    lines = [
        f'{word}\nTraceback (most recent call last):\n  File "{word}"\nValueError: {word}\n' for word in words
    ]
    (folder / "stdout").write_text("".join(lines), errors="surrogateescape")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("names")
    write_named(found / "home", RUN, SCRIPTS)
    write_named(found / "home", TWIN, tuple(f"word{number}" for number in range(len(SCRIPTS))))
    return found


@pytest.fixture(scope="module")
def served(place: Path) -> Iterator[Served]:
    with attacked(place) as found:
        yield found


@pytest.fixture
def wire(served: Served) -> Iterator[Wire]:
    with Wire(served.url) as found:
        wait_for(served, found, RUN)
        yield found


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> list[Route]:
    return table(told_by_the_application(tmp_path_factory.mktemp("told") / "home"))


def strict_json(body: bytes) -> Any:
    """Read JSON as a browser would: no NaN, no infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(body, parse_constant=refuse)


def is_safe(answer: Answer) -> bool:
    """Tell whether a browser shows nothing of an answer as markup."""
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not [name for name, value in answer.headers.items() if "owned" in name + value]
    if answer.kind.startswith("application/") and answer.kind.endswith("json"):
        strict_json(answer.body)
        return True
    if answer.kind in ("text/plain", "text/event-stream", "application/openmetrics-text"):
        return True
    assert answer.kind == "text/html"
    return not any(text.encode() in answer.body for text in MARKUP)


def test_every_answer_about_such_a_run_is_text(served: Served, wire: Wire, routes: list[Route]) -> None:
    asked = [route for route in routes if route.method == "GET"]
    for route in asked:
        answer = wire.ask("GET", route.at(run_id=RUN, job_id=RUN, name=RUN), bearer(served.token))
        assert answer.status < 500, route
        assert is_safe(answer), route
    shown = strict_json(wire.ask("GET", f"/api/v1/runs/{RUN}", bearer(served.token)).body)
    assert shown["name"] == " ".join(SCRIPTS)
    assert shown["tags"] == {text: text for text in SCRIPTS}
    assert shown["command"] == ["python", *SCRIPTS]


def test_every_script_as_a_parameter_is_text(served: Served, wire: Wire, routes: list[Route]) -> None:
    page = wire.ask("GET", "/").body
    for route in routes:
        if route.method == "GET" and route.parameters():
            for text in SCRIPTS:
                name = quote(text, safe="")
                answer = wire.ask("GET", route.at(run_id=name, job_id=name, name=name), bearer(served.token))
                harmless = route.path.startswith("/openapi") or answer.body == page
                assert 400 <= answer.status < 500 or harmless, (route, text)
                assert is_safe(answer), (route, text)


def test_a_name_that_people_give_comes_back_as_it_was_given(served: Served, wire: Wire) -> None:
    headers = bearer(served.token) | {"Content-Type": "application/json"}
    for text in SCRIPTS:
        body = json.dumps({"name": text, "project": text, "tags": {text: text}}).encode()
        answer = wire.ask("PATCH", f"/api/v1/runs/{folders.RUN_ID}", headers, body)
        assert answer.status in (200, 400), (text, answer.body)
        assert is_safe(answer)
        if answer.status == 200:
            assert strict_json(answer.body)["name"] == text


def test_the_stream_holds_every_name_inside_its_event(served: Served, wire: Wire) -> None:
    headers = bearer(served.token) | {"Content-Type": "application/json"}
    given = [text for text in SCRIPTS if text.isprintable() or "\n" in text]
    with streams.following(served.client, f"/api/v1/runs/{TWIN}/stream") as heard:
        assert next(heard).kind == "hello"
        for text in given[::6]:
            body = json.dumps({"tags": {"said": text}}).encode()
            if wire.ask("PATCH", f"/api/v1/runs/{TWIN}", headers, body).status != 200:
                continue
            told = next(heard)
            assert (told.kind, told.data["tags"]["said"]) == ("run", text)  # type: ignore[index]


def test_metrics_hold_every_name_inside_its_label(served: Served, wire: Wire) -> None:
    text = wire.ask("GET", "/metrics", bearer(served.token)).body.decode()
    families = list(text_string_to_metric_families(text))
    assert families
    assert all(family.name.startswith(("jobmeter_", "process_", "python_")) for family in families)


class Structure(HTMLParser):
    """The elements of a page in order, the names of their attributes, and what could act."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.acting: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(sorted(name for name, _ in attrs))))
        self.acting += [name for name, _ in attrs if name.startswith("on")]
        values = [
            value or "" for name, value in attrs if name in ("href", "src", "action", "data", "xlink:href")
        ]
        self.acting += [value for value in values if not value.startswith("#")]


def test_a_report_has_no_element_that_a_name_brought(served: Served) -> None:
    page, twin = (Structure(report_page.render(str(served.home), run_id)) for run_id in (RUN, TWIN))
    assert page.acting == twin.acting
    assert {tag for tag, _ in page.elements} == {tag for tag, _ in twin.elements}
    for tag in (
        "a",
        "img",
        "iframe",
        "form",
        "input",
        "script",
        "svg",
        "style",
        "link",
        "meta",
        "base",
        "object",
    ):
        assert [one for one in page.elements if one[0] == tag] == [
            one for one in twin.elements if one[0] == tag
        ], tag


def test_no_cell_of_a_table_is_a_formula(served: Served) -> None:
    exported = exporting.export(str(served.home), RUN, "csv", prefix="")
    for pieces in exported.parts.values():
        for row in csv.reader(io.StringIO(b"".join(pieces).decode())):
            for cell in row:
                assert not cell.startswith(("=", "@", "\t", "\r")), cell
                assert not cell.startswith(("+", "-")) or is_number(cell), cell


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
