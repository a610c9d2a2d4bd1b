"""`.env` files as con-duct's users write them."""

from pathlib import Path

import pytest

from jobmeter.compat import dotenv


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A=plain", "plain"),
        ("A = spaced ", "spaced"),
        ("export A=exported", "exported"),
        ("A=", ""),
        ("A=with # comment", "with"),
        ("A=no#comment", "no#comment"),
        ('A="two words" # comment', "two words"),
        ('A="a\\nb"', "a\nb"),
        ("A='a\\nb ${HOME}'", "a\\nb ${HOME}"),
        ('A="first\nsecond line"', "first\nsecond line"),
        ("A=${B}/logs", "b/logs"),
        ("A=${NOWHERE:-default}", "default"),
        ("A=${NOWHERE}", ""),
        ("# A=commented\nA=real", "real"),
        ("A=first\nA=second", "second"),
    ],
)
def test_an_assignment_is_read(text: str, value: str) -> None:
    assert dotenv.parse(text, {"B": "b"}) == {"A": value}


def test_what_is_no_assignment_is_skipped() -> None:
    assert dotenv.parse("just words\n=nothing\n1A=x\n\nA=1\n", {}) == {"A": "1"}


def test_an_unclosed_quote_is_taken_as_it_stands_and_the_next_line_still_counts() -> None:
    assert dotenv.parse('A="open\nB=2\n', {})["B"] == "2"


def test_a_later_file_wins(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("DUCT_MESSAGE=one\nDUCT_FAIL_TIME=1\n")
    (tmp_path / "two").write_text("DUCT_MESSAGE=two\n")
    environ = {"DUCT_CONFIG_PATHS": f"{tmp_path}/one:{tmp_path}/two"}
    values, _ = dotenv.settings(environ)
    assert values == {"DUCT_MESSAGE": "two", "DUCT_FAIL_TIME": "1"}


def test_a_file_that_cannot_be_read_is_skipped_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe=1\n")
    (tmp_path / "good").write_text("DUCT_MESSAGE=good\n")
    environ = {"DUCT_CONFIG_PATHS": f"{tmp_path}/binary:{tmp_path}/missing:{tmp_path}:{tmp_path}/good"}
    values, remarks = dotenv.settings(environ)
    assert values == {"DUCT_MESSAGE": "good"}
    assert [level for level, _ in remarks] == ["WARNING", "DEBUG", "WARNING", "INFO"]


def test_the_default_places_are_system_user_and_project() -> None:
    assert dotenv.search_paths({"XDG_CONFIG_HOME": "/x"}) == ["/etc/duct/.env", "/x/duct/.env", ".duct/.env"]
