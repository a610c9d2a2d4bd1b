"""Exceptions that the SDK told of, as errors that can be judged."""

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


def test_what_the_output_shows_is_not_told_twice() -> None:
    printed = LogError(
        level="ERROR", type="torch.OutOfMemoryError", message="CUDA out of memory.", signature="cuda_oom"
    )
    events = [
        told("OutOfMemoryError", "CUDA out of memory."),
        told("ValueError", "bad"),
        told("ValueError", "bad"),
    ]
    assert [error.type for error in told_exceptions.errors(events, [printed])] == ["ValueError"]


def test_odd_events_are_passed_over() -> None:
    odd = Event(timestamp=1.0, type="exception", details={"type": 5})
    assert list(told_exceptions.errors([odd, told("checkpoint")][:1], [])) == []
    (error,) = told_exceptions.errors([told("KeyboardError", where="somewhere")], [])
    assert error.type == "KeyboardError"
