"""Exceptions that the SDK told of, as errors that can be judged."""

from jobmeter.formats.errorlines import ErrorReader
from jobmeter.model.report import LogError
from jobmeter.model.view import Event
from jobmeter.service import told_exceptions


def told(kind: str, text: str = "", where: str = "/a/train.py:7 in main", rank: int | None = 3) -> Event:
    details = {"type": kind, "text": text, "where": where}
    return Event(timestamp=100.0, type="exception", details=details, rank=rank)


def test_an_exception_is_read_as_its_traceback_would_be() -> None:
    (error,) = told_exceptions.errors([told("ModuleNotFoundError", "No module named 'torch'")], [])
    assert (error.signature, error.type, error.message) == (
        "import_error",
        "ModuleNotFoundError",
        "ModuleNotFoundError: No module named 'torch'",
    )
    assert 'File "/a/train.py", line 7, in main' in (error.traceback or "")
    assert (error.timestamp, error.ranks, error.stream, error.offset) == (
        100.0,
        (3,),
        "event exception",
        None,
    )


def test_the_rank_of_a_process_alone_says_nothing() -> None:
    (error,) = told_exceptions.errors([told("ValueError", "bad")], [], is_alone=True)
    assert error.ranks == ()


CHAIN = b"""Traceback (most recent call last):
  File "/a/train.py", line 3, in load
ValueError: invalid literal

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/a/train.py", line 7, in main
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB with token=hf_secret
"""


def printed() -> list[LogError]:
    reader = ErrorReader()
    reader.feed(CHAIN, lambda _offset: 99.0, 0, final=True)
    return reader.take()


def test_what_the_output_shows_is_not_told_twice() -> None:
    cuda = "CUDA out of memory. Tried to allocate 2.00 GiB with token=[redacted]"
    events = [told("OutOfMemoryError", cuda), told("ValueError", "bad"), told("ValueError", "bad")]
    assert [error.message for error in told_exceptions.errors(events, printed())] == ["ValueError: bad"]


def test_events_that_tell_no_exception_are_passed_over() -> None:
    odd = Event(timestamp=1.0, type="exception", details={"type": 5})
    other = Event(timestamp=1.0, type="checkpoint", details={"type": "ValueError", "text": "bad"})
    assert list(told_exceptions.errors([odd, other], [])) == []


def test_a_place_that_cannot_be_read_is_left_out() -> None:
    (error,) = told_exceptions.errors([told("KeyError", "'x'", where="somewhere")], [])
    assert error.type == "KeyError"
    assert "File" not in (error.traceback or "")
