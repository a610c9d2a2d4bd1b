"""Every route of the server, taken from its own table, asked by those who may not: all are refused.

A route that is added later is walked without being named here.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from support import attacks, commands
from support.routes import (
    Asking,
    Route,
    attacked,
    bearer,
    description,
    files_below,
    made_token,
    table,
    told_by_the_application,
    told_nothing,
)
from support.server import Served
from support.wire import Answer, Wire

OPEN = {"a sign of life", "the page"}
"""All that is answered without a token; the page is the same at every address of it, and holds no data."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "JOBMETER")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attack")


@pytest.fixture(scope="module")
def served(place: Path) -> Iterator[Served]:
    with attacked(place) as found:
        yield found


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return told_by_the_application(tmp_path_factory.mktemp("told") / "home")


@pytest.fixture(scope="module")
def routes(told: dict[str, Any]) -> list[Route]:
    return table(told)


@pytest.fixture(scope="module")
def askings(told: dict[str, Any]) -> list[Asking]:
    return description(told)


@pytest.fixture(scope="module")
def opened(served: Served, routes: list[Route]) -> dict[Route, str]:
    """Say what each route is that answers strangers."""
    with Wire(served.url) as wire:
        page = wire.ask("GET", "/").body
        answers = {route: wire.ask(route.method, route.at()) for route in routes}
    names = {page: "the page"}
    return {
        route: "a sign of life" if route.path == "/health" else names.get(answer.body, "something else")
        for route, answer in answers.items()
        if answer.status != 401
    }


@pytest.fixture
def wire(served: Served) -> Iterator[Wire]:
    with Wire(served.url) as found:
        yield found


def test_the_table_is_all_there_is(routes: list[Route]) -> None:
    assert len(routes) > 40
    assert {"/", "/health", "/api/v1/runs"} <= {route.path for route in routes}
    assert {"read", "ingest", "admin"} == {route.needs for route in routes}


def test_without_a_token_all_but_two_things_are_refused(opened: dict[Route, str]) -> None:
    assert set(opened.values()) == OPEN
    assert {route.method for route in opened} == {"GET"}


def test_the_page_is_the_same_whoever_asks(served: Served, wire: Wire, opened: dict[Route, str]) -> None:
    stranger = wire.ask("GET", "/")
    assert told_nothing(served, stranger)
    for route, name in opened.items():
        if name == "the page":
            assert wire.ask("GET", route.at(), bearer(served.token)).body == stranger.body, route


def test_without_a_token_no_method_of_any_path_is_answered(
    wire: Wire, routes: list[Route], opened: dict[Route, str]
) -> None:
    more = {"/nowhere", "/api/v1", "/assets/x.js", "/assets/..%2fpage.py", "/openapi", "//", "/%00"}
    answered = {
        (method, path)
        for path in {route.at() for route in routes} | more
        for method in METHODS
        if wire.ask(method, path).status not in (400, 401, 405)
    }
    # HEAD is GET without the body
    allowed = {route.at() for route in opened}
    assert {path for method, path in answered if method == "GET"} == allowed
    assert {path for method, path in answered if method == "HEAD"} <= allowed
    assert {method for method, _ in answered} <= {"GET", "HEAD"}


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Bearer null",
        "Bearer jm_00000000_" + "x" * 43,
        "Basic dXNlcjpwYXNz",
        "Basic Og==",
        "Digest username=local",
        "token {token}",
        "{token}",
        "Bearer {token}x",
        "Bearer {shorter}",
        "Bearer {other}",
        "Bearer ' OR 1=1 --",
        "Bearer \xff\xfe",
        "Bearer " + "x" * 8000,
    ],
)
def test_a_wrong_token_opens_nothing(served: Served, wire: Wire, routes: list[Route], header: str) -> None:
    wrong = header.format(token=served.token, shorter=served.token[:-1], other=served.token.swapcase())
    for route in routes:
        request = (
            f"{route.method} {route.at()} HTTP/1.1\r\nHost: {wire.host}\r\nAuthorization: {wrong}\r\n\r\n"
        )
        assert wire.say(request.encode("latin-1"), route.method).status == 401, route


def test_a_token_in_the_address_or_a_cookie_opens_nothing(
    served: Served, wire: Wire, routes: list[Route], opened: dict[Route, str]
) -> None:
    cookie = {"Cookie": f"token={served.token}; jobmeter={served.token}"}
    for route in routes:
        if route not in opened:
            target = f"{route.at()}?token={served.token}&access_token={served.token}"
            assert wire.ask(route.method, target, cookie).status == 401, route


def test_a_revoked_token_opens_nothing(served: Served, wire: Wire, routes: list[Route]) -> None:
    revoked = made_token(served, "leaver", "admin")
    assert wire.ask("GET", "/api/v1/runs", revoked).status == 200
    assert commands.jobmeter(served.home, "token", "revoke", "leaver").code == 0
    for route in routes:
        assert wire.ask(route.method, route.at(), revoked).status == 401, route


@pytest.mark.parametrize("host", attacks.FOREIGN_HOSTS)
def test_a_foreign_host_is_refused_everywhere(
    served: Served, wire: Wire, routes: list[Route], host: str
) -> None:
    foreign = {**bearer(served.token), "Host": host.format(port=served.url.rpartition(":")[2])}
    for route in routes:
        answer = wire.ask(route.method, route.at(), foreign)
        assert answer.status in (400, 403), route
        assert told_nothing(served, answer)


def test_a_request_without_a_host_or_with_two_is_refused_everywhere(
    served: Served, wire: Wire, routes: list[Route]
) -> None:
    token = f"Authorization: Bearer {served.token}\r\n"
    own = f"Host: {wire.host}\r\n"
    for route in routes:
        for hosts in ("", "Host:\r\n", own + "Host: evil.example\r\n", "Host: evil.example\r\n" + own):
            request = f"{route.method} {route.at()} HTTP/1.1\r\n{hosts}{token}\r\n"
            assert wire.say(request.encode(), route.method).status in (400, 403), (route, hosts)


@pytest.mark.parametrize("headers", attacks.FOREIGN_ORIGINS, ids=str)
def test_a_page_of_another_site_changes_nothing(
    served: Served, wire: Wire, routes: list[Route], headers: dict[str, str]
) -> None:
    foreign = {name: value.format(url=served.url) for name, value in headers.items()}
    changing = [route for route in routes if route.method not in ("GET", "HEAD")]
    assert {route.method for route in changing} >= {"POST", "PATCH", "DELETE", "OPTIONS"}
    for route in changing:
        assert wire.ask(route.method, route.at(), bearer(served.token) | foreign).status == 403, route


def test_no_answer_lets_pages_of_other_sites_read_it(served: Served, wire: Wire, routes: list[Route]) -> None:
    asked = {**bearer(served.token), "Origin": "http://evil.example", "Access-Control-Request-Method": "GET"}
    for route in routes:
        if route.method != "DELETE":
            headers = wire.ask(route.method, route.at(), asked).headers
            assert not [name for name in headers if name.startswith("access-control-")], route
            assert headers["x-content-type-options"] == "nosniff", route
            assert headers["content-security-policy"].startswith("default-src 'self'"), route
            assert "unsafe" not in headers["content-security-policy"], route
            assert headers["x-frame-options"] == "DENY", route
            assert "server" not in headers, route


@pytest.mark.parametrize("scope", ["read", "ingest"])
def test_a_token_may_do_only_what_its_scope_says(
    served: Served, wire: Wire, routes: list[Route], opened: dict[Route, str], scope: str
) -> None:
    token = made_token(served, f"only-{scope}", scope)
    for route in routes:
        if route in opened:
            continue
        status = wire.ask(route.method, route.at(), token).status
        assert (status == 403) == (route.needs != scope), (route, status)
        assert status < 500, (route, status)


def test_reading_changes_nothing(served: Served, wire: Wire, routes: list[Route], place: Path) -> None:
    before = files_below(place)
    for route in routes:
        if route.method in ("GET", "HEAD"):
            assert wire.ask(route.method, route.at(), bearer(served.token)).status < 500, route
    assert files_below(place) == before


@pytest.mark.parametrize("attack", attacks.TRAVERSALS, ids=lambda text: quote(text)[:40])
def test_no_path_leads_out_of_the_home(
    served: Served, wire: Wire, routes: list[Route], place: Path, attack: str
) -> None:
    before = files_below(place)
    spellings = attacks.spellings(attack)
    page = wire.ask("GET", "/").body
    for route in routes:
        for name in route.parameters():
            for spelled in spellings:
                answer = wire.ask(route.method, route.at(**{name: spelled}), bearer(served.token))
                assert told_nothing(served, answer), (route, spelled)
                harmless = is_harmless(route, answer, page)
                assert 400 <= answer.status < 500 or harmless, (route, spelled, answer)
    assert files_below(place) == before


def is_harmless(route: Route, answer: Answer, page: bytes) -> bool:
    """Tell an answer that a text which is no path may have: a route of its own, or what every path may be asked."""
    plain = route.method == "OPTIONS" or route.path.startswith("/openapi") or answer.body == page
    return answer.status in (200, 204) and plain


@pytest.mark.parametrize("attack", attacks.TRAVERSALS, ids=lambda text: quote(text)[:40])
def test_no_parameter_leads_out_of_the_home(
    served: Served, wire: Wire, askings: list[Asking], place: Path, attack: str
) -> None:
    before = files_below(place)
    for asking in askings:
        for name in asking.names:
            for spelled in attacks.spellings(attack):
                target = f"{asking.route.at()}?{name}={spelled}"
                answer = wire.ask(asking.route.method, target, bearer(served.token))
                assert told_nothing(served, answer), target
                assert answer.status < 500, (target, answer)
                assert "location" not in answer.headers, target
    assert files_below(place) == before


@pytest.mark.parametrize("attack", attacks.TRAVERSALS, ids=lambda text: quote(text)[:40])
def test_no_text_in_a_body_leads_out_of_the_home(
    served: Served, wire: Wire, askings: list[Asking], place: Path, attack: str
) -> None:
    before = files_below(place)
    for asking in askings:
        if asking.route.method == "GET":
            continue
        for shape in (attack, [attack], {attack: attack}):
            documents: list[object] = [shape, *({name: shape} for name in asking.fields)]
            for document in documents:
                headers = {**bearer(served.token), "Content-Type": "application/json"}
                body = json.dumps(document).encode()
                answer = wire.ask(asking.route.method, asking.route.at(), headers, body)
                assert told_nothing(served, answer), (asking, body)
                assert answer.status < 500, (asking, body, answer)
    assert files_below(place) == before
