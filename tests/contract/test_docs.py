"""The documentation hangs together: every page can be reached, every link leads somewhere, every option exists."""

import argparse
import re
import shlex
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from jobmeter.cli import COMMANDS, RECORDING
from jobmeter.config import options

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
COMMAND = re.compile(r"(?:^\$ (?:[A-Z_]+=\S+ )*|`|^)(?:\./)?jobmeter ([a-z]+)([^`\n]*)", re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def links(page: Path) -> list[str]:
    return LINK.findall(page.read_text())


def anchors(page: Path) -> set[str]:
    """Name the headings of a page as GitHub does."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        target, _, anchor = link.partition("#")
        found = (page.parent / target).resolve() if target else page
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(link)
    assert broken == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [
            (page.parent / link.partition("#")[0]).resolve() for link in links(page) if link[0] != "#"
        ]
    assert [name(page) for page in PAGES if page not in reached] == []


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name != "README.md"]
    assert [page.name for page in pages if f"({page.name})" not in index] == []


@cache
def flags(command: str) -> frozenset[str]:
    """List the options a command takes."""
    if command in ("run", "attach"):
        return frozenset(flag for option in options.OPTIONS for flag in option.flags) | {"--help", "-h"}
    parser = argparse.ArgumentParser(prog="jobmeter")
    import_module(COMMANDS[command]).configure(parser)
    return frozenset(flags_of(parser))


def flags_of(parser: argparse.ArgumentParser) -> set[str]:
    """List the options of a parser and of the parsers below it; argparse has no other way."""
    found = {flag for action in parser._actions for flag in action.option_strings}
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return found.union(*(flags_of(inner) for action in below for inner in action.choices.values()))


def shown() -> list[tuple[str, str, str]]:
    """List the commands in the pages: page, command, the rest of its line."""
    found = []
    for page in PAGES:
        for command, rest in COMMAND.findall(page.read_text()):
            if command in COMMANDS or command in RECORDING:
                found.append((name(page), command, rest))
    return found


def test_the_pages_show_commands() -> None:
    assert len(shown()) > 60


@pytest.mark.parametrize("command", sorted({*COMMANDS, *RECORDING} - {"duct"}))
def test_every_option_shown_with_a_command_exists(command: str) -> None:
    unknown = []
    for page, used, rest in shown():
        if used != command:
            continue
        own = re.split(r" -- | \| |[;#]", rest)[0]
        try:
            words = shlex.split(own.replace("[", " ").replace("]", " "))
        except ValueError:
            words = own.split()
        given = [word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word)]
        unknown += [f"{page}: jobmeter {command} {flag}" for flag in given if flag not in flags(command)]
    assert unknown == []
