"""The documentation of `jobmeter run` names every option, and no other."""

import re
from pathlib import Path

from jobmeter.config import options

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "recording.md").read_text()
TABLE = PAGE.split("## Options")[1].split("\n## ")[0]


def test_every_option_has_a_row_and_every_row_an_option() -> None:
    documented = set(
        re.findall(r"--[a-z-]+", "\n".join(re.findall(r"^\| ([^|]+(?:\\\|[^|]+)*)\|", TABLE, re.MULTILINE)))
    )
    assert documented == {option.flags[-1] for option in options.OPTIONS}


def test_the_help_names_every_option() -> None:
    assert all(flag in options.help_text() for option in options.OPTIONS for flag in option.flags)
