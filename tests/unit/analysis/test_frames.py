"""The line of a job's own code in a traceback: past packages, Python itself and the exceptions around it."""

import pytest

from jobmeter.analysis import frames
from jobmeter.model.report import LogError

HEADER = "Traceback (most recent call last):"
OWN = '  File "/home/u/train.py", line 51, in main\n    step()'
PACKAGE = '  File "/v/lib/python3.11/site-packages/torch/nn.py", line 9, in forward\n    raise'
PYTHON = '  File "/usr/lib/python3.11/json/decoder.py", line 3, in decode\n    raise'
COMMAND = '  File "/v/bin/accelerate", line 8, in <module>\n    main()'
FROZEN = '  File "<frozen runpy>", line 198, in _run_module_as_main'


def place(*lines: str, message: str = "ValueError: x") -> str | None:
    text = "\n".join(lines)
    frame = frames.own(LogError(level="ERROR", type="ValueError", message=message, traceback=text))
    return None if frame is None else frame.place


def test_the_innermost_line_of_ones_own_counts() -> None:
    inner = OWN.replace("51, in main", "60, in step")
    assert place(HEADER, OWN, inner, PACKAGE, PYTHON, "ValueError: x") == "/home/u/train.py:60 in step"


MADE_UP = '  File "<__array_function__ internals>", line 200, in dot'
GIVEN = '  File "<string>", line 1, in <module>'


def test_what_eval_made_counts_less_than_a_file_of_ones_own() -> None:
    assert place(HEADER, OWN, GIVEN, "ValueError: x") == "/home/u/train.py:51 in main"


@pytest.mark.parametrize("frame", [PACKAGE, PYTHON, COMMAND, FROZEN, MADE_UP])
def test_what_others_wrote_is_not_ones_own(frame: str) -> None:
    assert place(HEADER, frame, "ValueError: x") is None


def test_without_a_traceback_there_is_no_line() -> None:
    assert frames.own(LogError(level="ERROR", type="x", message="x")) is None


def test_of_several_exceptions_the_one_that_is_told_counts() -> None:
    other = OWN.replace("51", "77")
    chain = (HEADER, OWN, "ValueError: x", "", "During handling", "", HEADER, other, "KeyError: 'y'")
    assert place(*chain) == "/home/u/train.py:51 in main"
    assert place(*chain, message="KeyError: 'y'") == "/home/u/train.py:77 in main"
    assert place(*chain, message="of neither") == "/home/u/train.py:77 in main"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('  File "<string>", line 14, in <module>', "line 14 of the code that was given with -c"),
        ('  File "<stdin>", line 2, in f', "line 2 of the code from the standard input"),
        ('  File "/u/a.py", line 3, in <module>', "/u/a.py:3"),
        ('  File "/u/a.py", line 3', "/u/a.py:3"),
        ('  |   File "/u/a.py", line 3, in f', "/u/a.py:3 in f"),
        ("│ /x/train.py:3 in main │", "/x/train.py:3 in main"),
    ],
)
def test_a_place_is_told_as_editors_read_it(line: str, said: str) -> None:
    assert place(HEADER, line, "ValueError: x") == said
