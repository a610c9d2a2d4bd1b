"""Parses a command's arguments; what it cannot read is one sentence and a hint, as every other error is."""

import argparse
import re
from difflib import get_close_matches
from typing import NoReturn

from jobmeter.errors import UsageError

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_WHOLE = re.compile(r"invalid int value: (.*)", re.DOTALL)
_NUMBER = re.compile(r"invalid float value: (.*)", re.DOTALL)
_CHOICE = re.compile(r"invalid choice: (.*) \(choose from (.*)\)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `UsageError`, its subcommands' too."""

    def error(self, message: str) -> NoReturn:
        """Refuse a command line."""
        sentence, hint = _plain(message, _OPTION.findall(self.format_help()))
        raise UsageError(sentence, hint=hint or f"see: {self.prog} --help")


def _plain(message: str, options: list[str]) -> tuple[str, str]:
    """Say what argparse says in our words: a sentence, and a hint where there is a better one than the help."""
    what, _, names = message.partition(": ")
    if what == "unrecognized arguments":
        return _unknown(names, options)
    if what == "the following arguments are required":
        return f"missing: {names}", ""
    argument, _, complaint = message.removeprefix("argument ").partition(": ")
    if not message.startswith("argument ") or not complaint:
        return message, ""
    return _complaint(argument, complaint)


def _unknown(words: str, options: list[str]) -> tuple[str, str]:
    if not words.startswith("-"):
        return f"one argument too many: {words}", ""
    option = words.split(maxsplit=1)[0].partition("=")[0]
    close = get_close_matches(option, options, n=1, cutoff=0.75)
    return f"unknown option: {option}", f"did you mean {close[0]}?" if close else ""


def _complaint(argument: str, complaint: str) -> tuple[str, str]:
    if found := _WHOLE.fullmatch(complaint):
        return f"{argument} needs a whole number, not {found[1]}", ""
    if found := _NUMBER.fullmatch(complaint):
        return f"{argument} needs a number, not {found[1]}", ""
    if found := _CHOICE.fullmatch(complaint):
        # Python 3.14 leaves the quotes away
        return f"{argument} cannot be {found[1]}", f"use one of {found[2].replace(chr(39), '')}"
    if complaint.startswith("expected one argument"):
        return f"{argument} needs a value", ""
    if complaint.startswith("not allowed with argument "):
        other = complaint.removeprefix("not allowed with argument ")
        return f"{argument} and {other} exclude each other", ""
    return f"{argument}: {complaint}", ""
