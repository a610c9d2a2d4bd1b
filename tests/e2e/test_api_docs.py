"""The page on the API: every route has a row, every row is a route, every example runs."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import commands, served_homes, server

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
ROW = re.compile(r"^\| `([A-Z]+) (/\S+)` \| (\w+) \|", re.MULTILINE)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[server.Served]:
    home = served_homes.write(tmp_path_factory.mktemp("docs") / "home")
    with server.serving(home) as running:
        yield running


def test_every_route_has_a_row(served: server.Served) -> None:
    document = served.client.get("/openapi.json").json()
    routes = {(method.upper(), path) for path, found in document["paths"].items() for method in found}
    assert {(method, path) for method, path, _ in ROW.findall(PAGE)} == routes


def test_rows_say_what_a_route_needs(served: server.Served) -> None:
    tokens = {}
    for scope in ("read", "ingest"):
        made = commands.jobmeter(served.home, "token", "create", f"of-{scope}", "--scope", scope)
        assert made.code == 0, made.complaint
        tokens[scope] = made.text.strip()
    for method, path, scope in ROW.findall(PAGE):
        if path.endswith("/stream"):
            continue  # does not end
        asked = re.sub(r"\{\w+\}", "x", path)
        for held, token in tokens.items():
            with served.stranger(headers={"authorization": f"Bearer {token}"}) as client:
                answer = client.request(method, asked)
            assert (answer.status_code == 403) == (scope not in (held, "none")), f"{held}: {method} {path}"


def test_every_example_runs(served: server.Served) -> None:
    block = PAGE.split("```sh\n")[2].split("```")[0]
    examples = [line for line in block.splitlines() if line.startswith("curl ")]
    assert len(examples) >= 6
    known = {"URL": served.url, "AUTH": f"Authorization: Bearer {served.token}", "RUN": served_homes.BUILD}
    for example in examples:
        done = subprocess.run(
            ["sh", "-c", f"{example} --fail-with-body"],
            env=commands.environment(served.home, **known),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, example + done.stdout
        assert done.stdout.startswith("{"), example
