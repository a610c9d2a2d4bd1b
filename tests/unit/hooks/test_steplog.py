"""The path every step takes: what it writes, when, and what may interrupt it."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import pytest

from jobmeter.hooks.complaints import Complaints
from jobmeter.hooks.files import Files
from jobmeter.hooks.steplog import StepLog


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    found = Files(str(tmp_path), "", Complaints(strict=True).not_kept)
    yield found
    found.close()


def begin(files: Files, first_step: int = 0) -> StepLog:
    return StepLog(files, Complaints(strict=True), rank=3, first_step=first_step)


def written(folder: Path) -> list[dict[str, object]]:
    text = (folder / "steps.jsonl").read_bytes().partition(b"\0")[0]
    assert text.endswith(b"\n")
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_is_in_the_file_when_log_returns(files: Files, tmp_path: Path) -> None:
    steps = begin(files, first_step=7)
    before = time.time() - 0.001
    steps.log({"loss": 0.5, "tokens": 3})
    (line,) = written(tmp_path)
    text = str(line.pop("timestamp"))
    assert line == {"step": 7, "rank": 3, "source": "sdk", "metrics": {"loss": 0.5, "tokens": 3}}
    assert (
        before
        <= datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC).timestamp()
        <= time.time()
    )
    assert len(text) == len("2026-01-01T00:00:00.000Z")


def test_steps_go_on_from_the_last_that_was_given(files: Files, tmp_path: Path) -> None:
    steps = begin(files)
    for step in (None, 40, None, -5, None, 2**63 - 1, 3):
        steps.log({"loss": 1.0}, step)
    assert [line["step"] for line in written(tmp_path)] == [0, 40, 41, -5, -4, 2**63 - 1, 3]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (-float("inf"), "-Infinity"),
        (True, 1),
        (-0.0, -0.0),
        (5e-324, 5e-324),
        (1.7976931348623157e308, 1.7976931348623157e308),
        (2**70, 2**70),
        (-(2**70), -(2**70)),
        ({"inner": 2.5}, 2.5),
    ],
)
def test_a_value_is_kept_as_it_is_or_by_its_name(
    given: object, kept: object, files: Files, tmp_path: Path
) -> None:
    begin(files).log({"null": 1.0, "x": given, "last": 2})
    (metrics,) = (line["metrics"] for line in written(tmp_path))
    assert isinstance(metrics, dict)
    name = "x/inner" if isinstance(given, dict) else "x"
    assert metrics == {"null": 1.0, name: kept, "last": 2}
    assert repr(metrics[name]) == repr(kept)


def test_a_window_full_of_lines_goes_on_in_the_next(files: Files, tmp_path: Path) -> None:
    steps = begin(files)
    for number in range(5000):
        steps.log({"loss": float(number), "count": number})
    found = written(tmp_path)
    assert [line["step"] for line in found] == list(range(5000))
    assert [line["metrics"] for line in found[::999]] == [
        {"loss": float(number), "count": number} for number in range(0, 5000, 999)
    ]


def test_an_error_that_a_handler_raises_behind_the_copy_is_the_scripts(files: Files, tmp_path: Path) -> None:
    steps = begin(files)
    steps.log({"loss": 0.0})

    def raise_behind_the_copy(_frame: FrameType, event: str, called: object) -> None:
        if event == "c_return" and getattr(called, "__name__", "") == "write":
            sys.setprofile(None)
            raise ValueError("the handler's own")

    sys.setprofile(raise_behind_the_copy)
    with pytest.raises(ValueError, match="the handler's own"):
        steps.log({"loss": 1.0})
    steps.log({"loss": 2.0})
    assert [line["metrics"] for line in written(tmp_path)] == [{"loss": 0.0}, {"loss": 1.0}, {"loss": 2.0}]


def test_what_a_handler_logs_in_the_middle_of_a_line_comes_right_behind_it(
    files: Files, tmp_path: Path
) -> None:
    steps = begin(files)
    steps.log({"loss": 0.0})

    def log_before_the_join(_frame: FrameType, event: str, called: object) -> None:
        if event == "c_call" and getattr(called, "__name__", "") == "join":
            sys.setprofile(None)
            steps.log({"handler": 1.0})
            steps.log({"handler": 2.0, "odd": float("nan")})

    sys.setprofile(log_before_the_join)
    steps.log({"loss": 1.0})
    steps.log({"loss": 2.0})
    assert [(line["step"], *line["metrics"].values()) for line in written(tmp_path)] == [  # type: ignore[attr-defined]  # a dict
        (0, 0.0),
        (1, 1.0),
        (2, 1.0),
        (3, 2.0, "NaN"),
        (4, 2.0),
    ]


def test_a_second_thread_waits_for_the_line_that_the_first_is_writing(files: Files, tmp_path: Path) -> None:
    steps = begin(files)
    steps.log({"main": 0})
    second = threading.Thread(target=steps.log, args=({"second": 1},))

    def start_before_the_join(_frame: FrameType, event: str, called: object) -> None:
        if event == "c_call" and getattr(called, "__name__", "") == "join":
            sys.setprofile(None)
            second.start()
            while steps._thread != -2:  # until it has asked for its turn
                time.sleep(0)

    sys.setprofile(start_before_the_join)
    steps.log({"main": 1})
    second.join()
    steps.log({"main": 2})
    assert [(line["step"], line["metrics"]) for line in written(tmp_path)] == [
        (0, {"main": 0}),
        (1, {"main": 1}),
        (2, {"second": 1}),
        (3, {"main": 2}),
    ]


def test_a_second_that_begins_under_a_line_leaves_its_time_whole(files: Files, tmp_path: Path) -> None:
    steps = begin(files)
    steps.log({"loss": 0.0})

    def begin_another(_frame: FrameType, event: str, called: object) -> None:
        if event == "c_return" and getattr(called, "__name__", "") == "time":
            sys.setprofile(None)
            steps._begin_second(time.time() + 3600)

    sys.setprofile(begin_another)
    before = time.time() - 0.001
    steps.log({"loss": 1.0})
    text = str(written(tmp_path)[1]["timestamp"])
    assert before <= datetime.fromisoformat(text).timestamp() <= time.time()
