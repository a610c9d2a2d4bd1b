"""Every command but `run`: find its module, parse its arguments, turn an expected error into one sentence."""

import argparse
import os
import sys
from importlib import import_module
from typing import Protocol

import jobmeter
from jobmeter.errors import JobmeterError, UsageError


class Command(Protocol):
    """A module in this folder: its docstring is the help text."""

    __doc__: str | None

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    def main(self, args: argparse.Namespace) -> int:
        """Carry the command out and return its exit code."""


COMMANDS: dict[str, str] = {
    "bundle": "jobmeter.cli.bundle",
    "doctor": "jobmeter.cli.doctor",
    "export": "jobmeter.cli.export",
    "gc": "jobmeter.cli.gc",
    "import": "jobmeter.cli.import_",
    "logs": "jobmeter.cli.logs",
    "ls": "jobmeter.cli.ls",
    "measurements": "jobmeter.cli.measurements",
    "plot": "jobmeter.cli.plot",
    "pp": "jobmeter.cli.pp",
    "rm": "jobmeter.cli.rm",
    "show": "jobmeter.cli.show",
    "tag": "jobmeter.cli.tag",
}

RAW: dict[str, str] = {
    "attach": "jobmeter.cli.attach",
    "duct": "jobmeter.compat.duct",
    "run": "jobmeter.cli.run",
}
"""Commands that parse their own arguments, because the job's command line follows; `main(argv)`."""


def main(argv: list[str]) -> int:
    """Dispatch one command line."""
    try:
        return _dispatch(argv)
    except JobmeterError as error:
        complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # the reader of our output left, as `head` does; keep the interpreter from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def complain(error: JobmeterError) -> None:
    """Print an expected error: what is wrong, then what to do."""
    print(f"jobmeter: {error}", file=sys.stderr)
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0 if argv else 2
    name, rest = argv[0], argv[1:]
    if name == "--version":
        print(f"jobmeter {jobmeter.__version__}")
        return 0
    if name in RAW:
        raw = import_module(RAW[name])
        code: int = raw.main(rest)
        return code
    if name not in COMMANDS:
        raise UsageError(
            f"unknown command: {name}", hint=f"use one of {', '.join(sorted({*COMMANDS, *RAW}))}"
        )
    command: Command = import_module(COMMANDS[name])  # type: ignore[assignment]  # contract test checks the names
    parser = argparse.ArgumentParser(prog=f"jobmeter {name}", description=command.__doc__, allow_abbrev=False)
    command.configure(parser)
    return command.main(parser.parse_args(rest))


def _overview() -> str:
    names = sorted({**COMMANDS, **RAW}.items())
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
