"""When a person is told that a server will not take the run."""

from pathlib import Path

import pytest

from jobmeter.recording import following


@pytest.mark.parametrize(
    ("server", "more", "lacks"),
    [
        (None, {}, False),
        ("https://jobs.example.org", {}, True),
        ("https://jobs.example.org", {"JOBMETER_TOKEN": "jm_1"}, False),
        ("http://127.0.0.1:8765", {}, False),
        ("http://[::1]:8765/base", {}, False),
    ],
)
def test_a_token_is_missed_where_a_server_elsewhere_asks_for_it(
    tmp_path: Path, server: str | None, more: dict[str, str], lacks: bool
) -> None:
    assert following.lacks_token(server, {"XDG_CONFIG_HOME": str(tmp_path), **more}) is lacks


def test_a_token_in_a_file_is_not_missed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("jm_1")
    assert not following.lacks_token(
        "https://jobs.example.org", {"JOBMETER_TOKEN_FILE": str(tmp_path / "token")}
    )
