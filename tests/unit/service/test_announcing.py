"""The note of where a server listens, and who may be sent there with a token."""

import json
import os
import socket
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import announcing, opening


def test_a_server_that_listens_is_found_until_it_withdraws(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        path = announcing.announce(str(tmp_path), url, auth=True)
        assert path.stat().st_mode & 0o777 == 0o600
        assert announcing.find(str(tmp_path)) == announcing.Note(url, os.getpid(), True)
        announcing.withdraw(str(tmp_path))
        with pytest.raises(UsageError, match=r"no server of .* is known"):
            announcing.find(str(tmp_path))


def test_the_note_of_another_server_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:1/", "pid": 1, "auth": True}))
    announcing.withdraw(str(tmp_path))
    assert (tmp_path / "server.json").exists()


def test_a_server_that_was_killed_is_not_opened(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    announcing.announce(str(tmp_path), f"http://127.0.0.1:{port}/", auth=True)
    with pytest.raises(UsageError, match="no server answers at"):
        announcing.find(str(tmp_path))


def test_nobody_is_sent_with_a_token_to_a_port_of_another_user(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        announcing.announce(str(tmp_path), f"http://127.0.0.1:{port}/", auth=True)
        (tmp_path / "net").mkdir()
        row = "  0: 0100007F:{:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {:5d} 0 1 1"
        theirs = os.getuid() + 1000
        (tmp_path / "net" / "tcp").write_text("head\n" + row.format(port, theirs) + "\n")
        with pytest.raises(UsageError, match="another user listens at"):
            announcing.find(str(tmp_path), proc=str(tmp_path))
        (tmp_path / "net" / "tcp").write_text("head\n" + row.format(port + 1, theirs) + "\n")
        assert announcing.find(str(tmp_path), proc=str(tmp_path)).auth


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": "http://x/", "pid": "many", "auth": 1}', "\x00"])
def test_a_note_that_is_none_is_no_server(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)
    with pytest.raises(UsageError, match="no server of"):
        announcing.find(str(tmp_path))


def test_no_browser_can_open_a_unix_socket(tmp_path: Path) -> None:
    announcing.announce(str(tmp_path), "unix:/run/s", auth=False)
    with pytest.raises(UsageError, match="listens on a Unix socket"):
        announcing.find(str(tmp_path))


def test_the_token_stands_in_the_fragment_whole() -> None:
    found = opening.address("http://127.0.0.1:8765/", "a+b/c&d")
    assert found == "http://127.0.0.1:8765/#token=a%2Bb%2Fc%26d"
    assert opening.address("http://127.0.0.1:8765/", None) == "http://127.0.0.1:8765/"


def test_the_browser_is_given_a_private_file_and_never_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {log}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    monkeypatch.setattr("webbrowser._tryorder", None)
    before = os.umask(0)
    try:
        assert opening.open_page(str(tmp_path), "http://127.0.0.1:8765/", "secret<&token")
    finally:
        os.umask(before)
    assert log.read_text().strip() == (tmp_path / "open.html").as_uri()
    assert (tmp_path / "open.html").stat().st_mode & 0o777 == 0o600
    assert "http://127.0.0.1:8765/#token=secret%3C%26token" in (tmp_path / "open.html").read_text()


@pytest.mark.parametrize(
    ("environ", "expected"), [({}, False), ({"DISPLAY": ":0"}, True), ({"WAYLAND_DISPLAY": "w"}, True)]
)
def test_a_browser_is_opened_on_desktops_only(environ: dict[str, str], expected: bool) -> None:
    assert opening.can_open(environ) is expected


def test_of_two_servers_of_one_home_the_first_is_found_as_long_as_it_lives(tmp_path: Path) -> None:
    first = {"url": "http://127.0.0.1:1/", "pid": os.getppid(), "auth": True}
    (tmp_path / "server.json").write_text(json.dumps(first))
    announcing.announce(str(tmp_path), "http://127.0.0.1:2/", auth=True)
    announcing.withdraw(str(tmp_path))
    assert json.loads((tmp_path / "server.json").read_text()) == first
    (tmp_path / "server.json").write_text(json.dumps(first | {"pid": 2**22 + 1}))
    announcing.announce(str(tmp_path), "http://127.0.0.1:2/", auth=True)
    assert json.loads((tmp_path / "server.json").read_text())["url"] == "http://127.0.0.1:2/"
