"""What makes two runs the same job: what people called it, else its program and script.

A name somebody gave says it best. Otherwise the command line does, without paths, options, their values and
numbers: a training with another learning rate, or with one worker more, is the same job. What can mislead: a
word after an option is taken for its value, so `run.py --fast eval` is `run.py`.
"""

import hashlib
import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath

from jobmeter.analysis import launchers
from jobmeter.analysis.launchers import Words
from jobmeter.model.run import Run

NEXTFLOW = "nextflow"
_MOST_COMMANDS = 3
_MOST_NESTED = 8
"""Launchers within launchers; more is a command line that goes round in circles."""
_VERSION = re.compile(r"(?<=[a-z])[0-9]+(?:\.[0-9]+)*$")
_STAMP = re.compile(
    r"[-_.]?(?:"
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # a UUID
    r"|20[0-9]{2}-?[01][0-9]-?[0-3][0-9](?:[T_-]?[0-2][0-9][-:]?[0-5][0-9](?:[-:]?[0-5][0-9])?Z?)?"  # a date
    r"|(?=[0-9a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,}"  # a hash
    r"|[0-9]{6,}"  # a serial number, seconds since the epoch
    r")(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*(?:[eE][+-]?[0-9]+)?")
_FILE = re.compile(r".*(?:/|\.[A-Za-z][A-Za-z0-9]{0,9}$|[*?\[\]{}=:@,$])")
_OPERATORS = "();<>|&\n"
_SHELLS = frozenset(("ash", "bash", "dash", "ksh", "sh", "zsh"))
_PREPARING = frozenset(
    [
        ".",
        ":",
        "[",
        "alias",
        "cd",
        "chmod",
        "cp",
        "date",
        "declare",
        "done",
        "echo",
        "eval",
        "exit",
        "export",
        "false",
        "fi",
        "for",
        "hostname",
        "local",
        "ls",
        "mkdir",
        "module",
        "mv",
        "printf",
        "pwd",
        "read",
        "rm",
        "set",
        "sleep",
        "source",
        "tee",
        "test",
        "touch",
        "trap",
        "true",
        "ulimit",
        "umask",
        "unset",
        "wait",
    ]
)
"""What a script does around the job itself."""
_KEYWORDS = frozenset(("!", "{", "}", "do", "else", "exec", "if", "then", "until", "while"))
_VALUED: dict[str, frozenset[str]] = {
    "java": frozenset(("-cp", "-classpath", "--class-path", "-p", "--module-path")),
    "julia": frozenset(("-t", "-p", "-J", "-L", "--project")),
    "node": frozenset(("-r", "--require", "--import")),
    "perl": frozenset(("-I",)),
    "pypy": frozenset(("-W", "-X")),
    "python": frozenset(("-W", "-X")),
    "ruby": frozenset(("-I", "-r")),
    "rscript": frozenset(("-e",)),
}
"""Interpreters, with the options of theirs that take a value: the script comes after them."""


def job_key(run: Run) -> str:
    """Name the job a run is one of."""
    name = _name(run)
    told = name if name is not None else command_key(run.command)
    if not told:
        # nothing says what it was: it is like no other run
        return run.job_id
    return f"{run.project}/{told}" if run.project else told


def command_key(command: Words) -> str:
    """Name what a command line runs; empty where it runs nothing."""
    # an importer keeps a whole script as one word
    words = _split(command[0]) if len(command) == 1 and re.search(r"\s", command[0]) else [command]
    return _joined(words, _MOST_NESTED)


def _name(run: Run) -> str | None:
    if run.provenance.origin == NEXTFLOW and run.tags.get("process"):
        return run.tags["process"]
    if run.name is None:
        return None
    name = run.name.partition(" (")[0] if run.provenance.origin == NEXTFLOW else run.name
    plain = _STAMP.sub("", _without_task(name, run)).strip(" -_.")
    # a name that is nothing but a serial number says less than the command
    return plain or (None if run.command else name)


def _without_task(name: str, run: Run) -> str:
    """Take the number of an array's task off a name that ends in it."""
    task = re.search(r"_(\d+)(?:$|\.)", run.tags.get("job", run.job_id))
    if task is None:
        return re.sub(r"[-_.]?\[\d+\]$", "", name)
    return re.sub(rf"[-_.]?\[?{task[1]}\]?$", "", name)


def _joined(commands: list[Words], depth: int) -> str:
    named = [key for words in commands if (key := _key(words, depth))]
    return " && ".join(list(dict.fromkeys(named))[:_MOST_COMMANDS])


def _key(words: Words, depth: int) -> str:
    words = launchers.without_assignments(words)
    if not words or depth == 0:
        return ""
    program, arguments = PurePosixPath(words[0]).name, words[1:]
    wrapped = _wrapped(arguments) if program == "sbatch" else ""
    if wrapped:
        return _joined(_split(wrapped), depth - 1)
    launcher = launchers.LAUNCHERS.get(program)
    found = None if launcher is None else launchers.launched(launcher, arguments)
    if launcher is not None and found is not None:
        return _launched(launcher, found, depth)
    if program in _SHELLS:
        return _shell_key(arguments, depth)
    interpreter = _VERSION.sub("", program.lower())
    if interpreter in _VALUED:
        return _interpreted(interpreter, arguments, depth)
    return " ".join((_STAMP.sub("", program) or program, *_words(arguments)))


def _wrapped(arguments: Words) -> str:
    """Find what `sbatch --wrap='...'` runs."""
    for place, argument in enumerate(arguments):
        if argument == "--wrap":
            return "".join(arguments[place + 1 : place + 2])
        if argument.startswith("--wrap="):
            return argument.removeprefix("--wrap=")
    return ""


def _launched(launcher: launchers.Launcher, found: tuple[Words, bool], depth: int) -> str:
    rest, is_module = found
    if is_module:
        return _interpreted("python", ("-m", *rest), depth - 1)
    if launcher.script and PurePosixPath(rest[0]).suffix == ".py":
        return _interpreted("python", rest, depth - 1)
    return _key(rest, depth - 1)


def _interpreted(interpreter: str, arguments: Words, depth: int) -> str:
    place = 0
    while place < len(arguments) and arguments[place].startswith("-") and arguments[place] != "-":
        option, rest = arguments[place], arguments[place + 1 :]
        if option in ("-m", "-jar") and rest:
            return _module(interpreter, option, rest, depth)
        if option in ("-c", "-e", "-E") and rest:
            return f"{interpreter} {option} {_digest(rest[0])}"
        place += 2 if option in _VALUED[interpreter] else 1
    if place >= len(arguments):
        return interpreter
    script = PurePosixPath(arguments[place]).name
    return " ".join((interpreter, _STAMP.sub("", script) or script, *_words(arguments[place + 1 :])))


def _module(interpreter: str, option: str, rest: Words, depth: int) -> str:
    launcher = launchers.MODULES.get(rest[0])
    found = None if launcher is None else launchers.launched(launcher, rest[1:])
    if launcher is not None and found is not None:
        return _launched(launcher, found, depth)
    return " ".join((interpreter, option, PurePosixPath(rest[0]).name, *_words(rest[1:])))


def _shell_key(arguments: Words, depth: int) -> str:
    place = 0
    while place < len(arguments) and arguments[place].startswith(("-", "+")):
        letters = "" if arguments[place].startswith("--") else arguments[place][1:]
        if "c" in letters:
            return _joined(_split("".join(arguments[place + 1 : place + 2])), depth - 1)
        # `-euo pipefail`
        place += 2 if letters.endswith(("o", "O")) else 1
    if place >= len(arguments):
        return "sh"
    script = PurePosixPath(arguments[place]).name
    return " ".join((_STAMP.sub("", script) or script, *_words(arguments[place + 1 :])))


def _split(script: str) -> list[Words]:
    """Take a script apart into the commands that do its work; all of them where none seems to."""
    lines = (line for line in script.splitlines() if not line.lstrip().startswith("#"))
    found: list[list[str]] = [[]]
    to_file = False
    for token in _tokens("\n".join(lines)):
        if token.strip(_OPERATORS):
            found[-1] += [] if to_file else [token]
            to_file = False
            continue
        to_file = "<" in token or ">" in token
        if not to_file:
            found.append([])
    commands = [words for tokens in found if (words := _without_keywords(tokens))]
    working = [words for words in commands if words[0] not in _PREPARING and words[1:2] != ("activate",)]
    return working or commands


def _tokens(script: str) -> list[str]:
    lexer = shlex.shlex(script, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        return list(lexer)
    except ValueError:
        return script.split()  # a quote that is never closed, as in a here-document


def _without_keywords(tokens: list[str]) -> Words:
    place = 0
    while place < len(tokens) and tokens[place] in _KEYWORDS:
        place += 1
    return launchers.without_assignments(tuple(tokens[place:]))


def _words(arguments: Words) -> Iterator[str]:
    """Give the words that say what to do: no options, no values of theirs, no files, no numbers."""
    is_value = False
    for argument in arguments:
        if argument.startswith("-"):
            is_value = argument != "--" and "=" not in argument and not launchers.JOINED.fullmatch(argument)
            continue
        plain = "" if is_value or _FILE.match(argument) else _NUMBER.sub("", argument).strip("-_.+%")
        is_value = False
        if plain:
            yield plain


def _digest(code: str) -> str:
    return hashlib.sha256(_NUMBER.sub("", code).encode(errors="surrogateescape")).hexdigest()[:6]
