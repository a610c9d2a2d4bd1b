"""The routes of the server as its own application has them, and what their answers must never hold."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import commands, folders, server
from support.server import Served
from support.wire import Answer, Wire

SECRET = "a-secret-beside-the-home-7d1c"  # noqa: S105  # it is to be looked for
_OWN = re.compile(r"/(cache|server\.db|changes\.jsonl|notes\.jsonl|alerts\.jsonl)")


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one route."""

    method: str
    path: str
    needs: str
    """The scope it says it needs; one that says nothing needs `admin`."""

    def at(self, **values: str) -> str:
        """Write its path with every parameter filled in."""
        return re.sub(r"\{(\w+)[^}]*\}", lambda found: values.get(found[1], folders.RUN_ID), self.path)

    def parameters(self) -> list[str]:
        """Name the parameters in its path."""
        return re.findall(r"\{(\w+)", self.path)


_TELL = """
import json, sys
from jobmeter.service.server_settings import ServerSettings
from jobmeter.service.serving import Server
from jobmeter.web import app
made = app.build(Server(ServerSettings(home=sys.argv[1])))
table = [
    [method, route.path, handler.opt.get("needs", "admin")]
    for route in made.routes
    for handler in getattr(route, "route_handlers", ())
    for method in sorted(handler.http_methods)
]
print(json.dumps({"table": table, "description": made.openapi_schema.to_schema()}))
"""


def told_by_the_application(home: Path) -> dict[str, Any]:
    """Have the application tell its routes and its description."""
    told = subprocess.run([sys.executable, "-c", _TELL, str(home)], capture_output=True, check=True)
    return json.loads(told.stdout)  # type: ignore[no-any-return]


def table(told: dict[str, Any]) -> list[Route]:
    """Read the routes of the application itself."""
    return sorted((Route(*row) for row in told["table"]), key=lambda route: (route.path, route.method))


@dataclass(frozen=True, slots=True)
class Asking:
    """A route as the application describes it, and the parameters it takes in the address."""

    route: Route
    names: tuple[str, ...]
    fields: tuple[str, ...]
    """What a body may say."""


def description(told: dict[str, Any]) -> list[Asking]:
    """Read what the application says of its own routes that change nothing of a run."""
    told = told["description"]
    return [
        Asking(
            Route(method.upper(), path, ""),
            tuple(one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"),
            tuple(fields_of(told, operation.get("requestBody", {}))),
        )
        for path, methods in told["paths"].items()
        for method, operation in methods.items()
        if method in ("get", "post", "patch")
    ]


def fields_of(told: dict[str, Any], body: dict[str, Any]) -> Iterator[str]:
    """Name what a described body may say."""
    for kind in body.get("content", {}).values():
        name = kind["schema"].get("$ref", "").rpartition("/")[2]
        yield from told["components"]["schemas"].get(name, {}).get("properties", {})


@contextmanager
def attacked(place: Path) -> Iterator[Served]:
    """Serve a home that has a run; beside it lies a file that is nobody's business."""
    folders.write_run(place / "home", seconds=3)
    (place / "secret").write_text(SECRET)
    with server.serving(place / "home", "--requests-per-second", "100000") as served:
        yield served


def bearer(token: str) -> dict[str, str]:
    """Write the header that carries a token."""
    return {"Authorization": f"Bearer {token}"}


def made_token(served: Served, name: str, *scopes: str) -> dict[str, str]:
    """Have a token made and give the header that carries it."""
    wanted = [word for scope in scopes for word in ("--scope", scope)]
    told = commands.jobmeter(served.home, "token", "create", name, *wanted)
    assert told.code == 0, told.complaint
    return bearer(told.text.strip())


def told_nothing(served: Served, answer: Answer) -> bool:
    """Tell whether an answer holds nothing of the files that are not served."""
    secrets = (SECRET.encode(), served.token.encode(), b"root:x:0:", b"SQLite format 3")
    return not any(secret in answer.body for secret in secrets)


def files_below(place: Path) -> set[str]:
    """List what is there, less what a server and its index keep for themselves and notes on a run."""
    return {path for path in map(str, place.rglob("*")) if not _OWN.search(path)}


def sync(wire: Wire, run_id: str, headers: dict[str, str], files: dict[str, bytes]) -> Answer:
    """Send whole files of a run that ended, as an agent does."""
    parts = [{"name": name, "offset": 0, "crc32": 0, "length": len(text)} for name, text in files.items()]
    body = json.dumps({"files": parts, "final": True}).encode() + b"\n" + b"".join(files.values())
    named = headers | {"Content-Type": "application/x-jobmeter-sync"}
    return wire.ask("POST", f"/api/v1/runs/{run_id}/sync", named, body)


def wait_for(served: Served, wire: Wire, run_id: str) -> None:
    """Wait until a run can be asked for."""
    deadline = time.monotonic() + 20
    while wire.ask("GET", f"/api/v1/runs/{run_id}", bearer(served.token)).status != 200:
        assert time.monotonic() < deadline, "the run was never indexed"
        time.sleep(0.02)
