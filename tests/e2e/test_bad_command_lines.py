"""Command lines that cannot be carried out: one sentence, a hint, exit code 2."""

from pathlib import Path

import pytest

from support import folders
from support.commands import jobmeter

DONE = "20261115T095001Z-7f3a9c"
FAILED = "20261115T101500Z-000002"
LOST = "20261115T101500Z-00000a"
LONG = "x" * 300


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, two of which begin alike."""
    home = tmp_path_factory.mktemp("bad") / "home"
    for number, run_id in enumerate((DONE, FAILED, LOST)):
        folders.write_run(home, run_id=run_id, seconds=1, started=folders.STARTED + number * 1500)
    return home


BAD: list[tuple[list[str | bytes], str]] = [
    (["show", "nosuch"], "unknown run: nosuch"),
    (["show", "20261115T10"], "several runs begin with 20261115T10"),
    (["show", "/etc"], "/etc is not a run folder"),
    (["show", b"caf\xe9"], "unknown run: caf\\udce9"),
    (["logs", "nosuch"], "unknown run: nosuch"),
    (["logs", "last", "-n", "-1"], "-n needs a number of lines from 0 up, not -1"),
    (["ls", "-n", "-1"], "-n needs a number of runs from 0 up, not -1"),
    (["ls", "-c", "colour"], "cannot show colour: unknown field"),
    (["ls", "-c", ""], "-c needs at least one field"),
    (["ls", "--sort", "colour"], "cannot sort by colour: unknown field"),
    (["ls", "--filter", "wall>"], "cannot read the filter at column 6: a value is missing after >"),
    (["ls", "--filter", b"wall>\xff"], "cannot read the filter at column 6: wall is a span of time"),
    (["ls", "--home", "/etc/passwd"], "cannot read the runs in /etc/passwd: not a directory"),
    (["pp", "/nonexistent"], "cannot read /nonexistent: no such file or directory"),
    (["pp", b"/nonexistent\xff"], "cannot read /nonexistent\\udcff: no such file or directory"),
    (["pp", "/etc"], "/etc is a directory"),
    (["pp", "/etc/passwd"], "/etc/passwd holds no JSON"),
    (["pp", "/bin/true"], "/bin/true holds no JSON"),
    (["measurements", "nosuch"], "no measurement begins with nosuch"),
    (["tag", "nosuch", "a=b"], "unknown run: nosuch"),
    (["tag", "last", "word"], "cannot read the tag word"),
    (["tag", "last", "=v"], "a tag needs a name without '=': ''"),
    (["tag", "last", "--note", " "], "a note needs some text"),
    (["rm", "nosuch"], "unknown run: nosuch"),
    (["rm", "--restore", "nosuch"], "no run nosuch in the bin"),
    (["gc"], "gc needs to know what to keep"),
    (["gc", "--keep", "soon"], "cannot keep soon"),
    (["gc", "--keep", "50%"], "cannot keep 50%"),
    (["bundle", "nosuch"], "unknown run: nosuch"),
    (["bundle", "last", "-o", f"/tmp/{LONG}"], f"cannot write /tmp/{LONG}: file name too long"),
    (["pp", f"/tmp/{LONG}"], f"cannot read /tmp/{LONG}: file name too long"),
    (["bundle", "last", "-o", "/proc/nowhere/x"], "cannot write /proc/nowhere/x: no such file or directory"),
]


@pytest.mark.parametrize(
    ("arguments", "sentence"), BAD, ids=[" ".join(map(ascii, arguments)) for arguments, _ in BAD]
)
def test_bad_input_is_answered_in_a_sentence(home: Path, arguments: list[str | bytes], sentence: str) -> None:
    answer = jobmeter(home, *arguments)
    assert answer.code == 2
    assert answer.out == b""
    assert answer.complaint.splitlines()[0] == f"jobmeter: {sentence}"
    assert "Traceback" not in answer.complaint


def test_an_unknown_option_is_refused(home: Path) -> None:
    answer = jobmeter(home, "ls", "--nosuch")
    assert (answer.code, answer.out) == (2, b"")
    assert answer.complaint == "jobmeter: unknown option: --nosuch\nhint: see: jobmeter ls --help\n"


def test_more_runs_than_can_be_counted_are_all(home: Path) -> None:
    answer = jobmeter(home, "ls", "-n", "9" * 20, "-c", "id")
    assert (answer.code, len(answer.text.splitlines())) == (0, 4)


@pytest.mark.parametrize("words", [("--home", "{}"), ("--home={}",)])
def test_the_home_may_stand_before_the_command(home: Path, words: tuple[str, ...]) -> None:
    answer = jobmeter(home.parent / "another", *(word.format(home) for word in words), "ls", "-c", "id")
    assert (answer.code, answer.text.split()[0:2]) == (0, ["RUN", LOST])


def test_a_home_without_a_command_is_told_where_it_belongs(home: Path) -> None:
    answer = jobmeter(home, "--home", str(home))
    assert (answer.code, answer.out) == (2, b"")
    assert answer.complaint == (
        "jobmeter: --home stands where a command is expected\n"
        "hint: options follow the command, as in jobmeter ls --home DIR\n"
    )
