"""Every command that does not record: find its module, parse its arguments, call it."""

import argparse
import errno
import os
import sys
from importlib import import_module
from typing import Protocol

import jobmeter
from jobmeter.cli import COMMANDS, RECORDING
from jobmeter.cli.parser import Parser
from jobmeter.errors import UsageError


class Command(Protocol):
    """A module in this folder: its docstring is the help text."""

    __doc__: str | None

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    def main(self, args: argparse.Namespace) -> int:
        """Carry the command out and return its exit code."""


def main(argv: list[str]) -> int:
    """Dispatch one command line."""
    try:
        code = _dispatch(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()  # its reader left, as `head` does
        return 141
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _forget_output()
        raise UsageError("the disk is full: the output is cut", hint="make room and try again") from None
    return code


def _forget_output() -> None:
    """Keep the interpreter from trying to write the rest, and complaining, at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0 if argv else 2
    name, rest = argv[0], argv[1:]
    if name == "--version":
        print(f"jobmeter {jobmeter.__version__}")
        return 0
    if name.startswith("-"):
        raise UsageError(
            f"{name} stands where a command is expected",
            hint="options follow the command, as in jobmeter ls --home DIR",
        )
    if name not in COMMANDS:
        raise UsageError(
            f"unknown command: {name}", hint=f"use one of {', '.join(sorted({*COMMANDS, *RECORDING}))}"
        )
    command: Command = import_module(COMMANDS[name])
    parser = Parser(prog=f"jobmeter {name}", description=command.__doc__, allow_abbrev=False)
    command.configure(parser)
    return command.main(parser.parse_args(rest))


def _overview() -> str:
    names = sorted({**COMMANDS, **RECORDING}.items())
    rows = [
        f"  {name:<13} {(import_module(path).__doc__ or '').strip().splitlines()[0]}" for name, path in names
    ]
    return "\n".join(
        [
            "usage: jobmeter COMMAND ...",
            "",
            "Know what a job really used, why it failed, and what to change.",
            "",
            *rows,
        ]
    )
