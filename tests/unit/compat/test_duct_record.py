"""The drop-in's own light reading of the folder it just wrote, held against the reader of all folders."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.compat import duct_record
from jobmeter.runfolder import reader
from support import folders


@given(st.integers(min_value=0, max_value=7_258_118_399_999))
def test_our_stamps_are_read_as_the_calendar_has_it(millis: int) -> None:
    moment = datetime.fromtimestamp(millis // 1000, tz=UTC)
    text = f"{moment:%Y-%m-%dT%H:%M:%S}.{millis % 1000:03d}Z"
    assert duct_record._moment(text) == pytest.approx(millis / 1000, abs=1e-5)


def test_a_folder_says_the_same_to_both_readers(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=20)
    ours, whole = duct_record.Recorded(str(folder)), reader.read_run(folder)
    for name in (
        "run_id",
        "command",
        "cwd",
        "host",
        "message",
        "exit_code",
        "samples",
        "wall_seconds",
        "summary",
    ):
        assert getattr(ours, name) == getattr(whole, name), name
    assert ours.started_at == pytest.approx(whole.started_at, abs=1e-6)
    assert ours.ended_at == pytest.approx(whole.ended_at, abs=1e-6)
    assert ours.outputs == [("stdout", str(folder / "stdout"), 0)]
    assert ours.provenance.inexact == whole.provenance.inexact


def test_lines_hold_the_same_values_as_windows(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=20)
    ours, whole = list(duct_record.Lines(str(folder))), list(reader.read_windows(folder))
    assert len(ours) == len(whole) == 22
    for line, window in zip(ours, whole, strict=True):
        assert (line.num_samples, line.values) == (window.num_samples, window.values)
        assert line.timestamp == pytest.approx(window.timestamp, abs=1e-6)
        assert line.clock == window.clock


def test_a_run_that_was_never_sampled_has_no_lines(tmp_path: Path) -> None:
    assert list(duct_record.Lines(str(tmp_path))) == []
