"""What every reading command has in common."""

import argparse
from importlib import import_module

import pytest

from jobmeter.cli import dispatch

READING = ("bundle", "doctor", "gc", "logs", "ls", "measurements", "pp", "rm", "show", "steps", "tag")


@pytest.mark.parametrize("name", READING)
def test_every_reading_command_takes_home_and_json(name: str) -> None:
    command = import_module(dispatch.COMMANDS[name])
    parser = argparse.ArgumentParser(prog=name)
    command.configure(parser)
    assert "--home DIR" in parser.format_help()
    assert "--json" in parser.format_help()


@pytest.mark.parametrize("name", READING)
def test_the_first_line_of_help_is_one_sentence(name: str) -> None:
    told = import_module(dispatch.COMMANDS[name]).__doc__ or ""
    first = told.splitlines()[0]
    assert first[0].isupper()
    assert first.endswith(".")
    assert len(first) <= 110
