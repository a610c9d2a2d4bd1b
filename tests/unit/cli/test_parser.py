"""Command lines that cannot be read: one sentence and a hint, the same way for every command."""

import pytest

from jobmeter.cli.parser import Parser
from jobmeter.errors import UsageError


def parser() -> Parser:
    made = Parser(prog="jobmeter thing", allow_abbrev=False)
    made.add_argument("run", metavar="RUN")
    made.add_argument("-n", "--limit", type=int)
    made.add_argument("--share", type=float)
    made.add_argument("--for", choices=("slurm", "k8s"))
    made.add_argument("--pair", nargs=2)
    either = made.add_mutually_exclusive_group()
    either.add_argument("--stdout", action="store_true")
    either.add_argument("--stderr", action="store_true")
    return made


SEE = "see: jobmeter thing --help"


@pytest.mark.parametrize(
    ("words", "sentence", "hint"),
    [
        (["last", "--limt=3"], "unknown option: --limt", "did you mean --limit?"),
        (["last", "--wombat", "x"], "unknown option: --wombat", SEE),
        (["last", "first"], "one argument too many: first", SEE),
        ([], "missing: RUN", SEE),
        (["last", "-n", "many"], "-n/--limit needs a whole number, not 'many'", SEE),
        (["last", "--share", "half"], "--share needs a number, not 'half'", SEE),
        (["last", "--for", "pbs"], "--for cannot be 'pbs'", "use one of slurm, k8s"),
        (["last", "--limit"], "-n/--limit needs a value", SEE),
        (["last", "--pair", "x"], "--pair: expected 2 arguments", SEE),
        (["last", "--stdout", "--stderr"], "--stderr and --stdout exclude each other", SEE),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(words: list[str], sentence: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parser().parse_args(words)
    assert (str(caught.value), caught.value.hint) == (sentence, hint)


def test_a_subcommand_answers_the_same_way() -> None:
    made = Parser(prog="jobmeter thing")
    made.add_subparsers(dest="what").add_parser("record").add_argument("build")
    with pytest.raises(UsageError) as caught:
        made.parse_args(["record"])
    assert (str(caught.value), caught.value.hint) == ("missing: build", "see: jobmeter thing record --help")


def test_a_sentence_of_a_commands_own_is_left_as_it_is() -> None:
    with pytest.raises(UsageError, match=r"^give two runs$"):
        parser().error("give two runs")
