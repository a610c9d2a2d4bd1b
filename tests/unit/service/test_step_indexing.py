"""Steps and SDK files of a run folder into the index: each line once, whatever state the files are in."""

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.model.steps import StepTable
from jobmeter.model.view import Event
from jobmeter.runfolder import reader
from jobmeter.service import index, runs
from support import folders

LIVE = folders.this_recorder()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def opened(home: Path, tmp_path: Path) -> Iterator[index.Index]:
    with index.open_index(home, path=tmp_path / "index.db", warn=_refuse) as found:
        yield found


def _refuse(sentence: str) -> None:
    raise AssertionError(sentence)


def line(number: int, rank: int = 0, **metrics: object) -> bytes:
    record = {
        "timestamp": folders.iso(folders.STARTED + number),
        "step": number,
        "rank": rank,
        "source": "sdk",
        "metrics": metrics or {"loss": 1 / number},
    }
    return json.dumps(record).encode() + b"\n"


def tables(opened: index.Index) -> list[StepTable]:
    opened.refresh()
    return opened.ask(lambda store: store.steps(folders.RUN_ID))


def steps(opened: index.Index) -> list[list[int]]:
    return [list(table.steps) for table in tables(opened)]


def test_only_new_lines_are_read_each_time(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3, ended=False, start=LIVE)
    file = folder / "steps.jsonl"
    file.write_bytes(line(1) + line(2)[:20])
    assert steps(opened) == [[1]]
    file.write_bytes(line(1) + line(2) + line(3))
    assert steps(opened) == [[1, 2, 3]]
    assert steps(opened) == [[1, 2, 3]]


def test_a_file_set_aside_in_advance_is_read_as_it_fills(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3, ended=False, start=LIVE)
    with (folder / "steps.jsonl").open("wb") as file:
        file.truncate(65536)
        for number in (1, 2, 3):
            file.write(line(number))
            file.flush()
            assert steps(opened) == [list(range(1, number + 1))]
        file.truncate()
    folders.append(folder / "run.jsonl", folders.end_record(3))
    assert steps(opened) == [[1, 2, 3]]


def test_a_file_that_a_kill_left_full_of_zeros_reads_clean(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3)
    (folder / "steps.jsonl").write_bytes(line(1) + line(2) + line(3)[:30] + bytes(50_000))
    (folder / "events.sdk.jsonl").write_bytes(bytes(100))
    assert steps(opened) == [[1, 2]]
    run = opened.ask(lambda store: store.run(folders.RUN_ID))
    assert run is not None
    assert run.steps is not None
    assert (run.steps.count, run.steps.last_step) == (2, 2)
    assert opened.refresh().indexed == []


def test_compressed_files_are_read_on_where_the_plain_ones_ended(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3, ended=False, start=LIVE)
    plain = folder / "steps.jsonl"
    plain.write_bytes(line(1))
    assert steps(opened) == [[1]]
    (folder / "steps.jsonl.gz").write_bytes(gzip.compress(line(1) + line(2)))
    plain.unlink()
    assert steps(opened) == [[1, 2]]


def test_every_rank_and_every_second_writer_has_its_own_table(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3)
    (folder / "steps.0.jsonl").write_bytes(line(1))
    (folder / "steps.1.jsonl").write_bytes(line(1, rank=1) + line(2, rank=1))
    (folder / "steps.1.pid77.jsonl").write_bytes(line(9, rank=1))
    found = [(table.rank, table.writer, list(table.steps)) for table in tables(opened)]
    assert found == [
        (0, "steps.0.jsonl", [1]),
        (1, "steps.1.jsonl", [1, 2]),
        (1, "steps.1.pid77.jsonl", [9]),
    ]
    run = opened.ask(lambda store: store.run(folders.RUN_ID))
    assert run is not None
    assert run.ranks == (0, 1)


def test_lines_that_are_no_steps_are_counted(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3)
    (folder / "steps.jsonl").write_bytes(line(1) + b'garbage\n\n{"step": "x"}\n' + line(2))
    assert steps(opened) == [[1, 2]]
    run = opened.ask(lambda store: store.run(folders.RUN_ID))
    assert run is not None
    assert run.provenance.dropped["unreadable_lines"] == 2


def test_a_file_that_became_shorter_is_another_file(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3, ended=False, start=LIVE)
    (folder / "steps.jsonl").write_bytes(line(1) + line(2) + line(3))
    assert steps(opened) == [[1, 2, 3]]
    (folder / "steps.jsonl").write_bytes(line(7))
    assert steps(opened) == [[7]]


def test_values_are_kept_exactly(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3)
    (folder / "steps.jsonl").write_bytes(line(1, big=2**53 + 1, low=-7.5, odd="NaN", far="-Infinity"))
    (table,) = tables(opened)
    values = {name: column.values[0] for name, column in table.columns.items()}
    assert (values["big"], values["low"], values["far"]) == (9007199254740993, -7.5, -math.inf)
    assert math.isnan(values["odd"])


def test_a_long_run_is_read_in_pieces_and_summed_up_whole(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3)
    (folder / "steps.jsonl").write_bytes(b"".join(line(n, loss=1000 - n / 100) for n in range(1, 90_001)))
    assert (folder / "steps.jsonl").stat().st_size > 8 * 1024 * 1024
    opened.refresh()
    run = opened.ask(lambda store: store.run(folders.RUN_ID))
    assert run is not None
    assert run.steps is not None
    loss = run.steps.metrics["loss"]
    assert (run.steps.count, run.steps.last_step) == (90_000, 90_000)
    assert (loss.first, loss.last, loss.low, loss.high) == (999.99, 100.0, 100.0, 999.99)
    assert run.steps.steps_per_second == 1.0


def test_events_of_every_process_are_read_in_order_of_time(home: Path) -> None:
    folder = folders.write_run(home, seconds=3)
    for name, seconds, kind in (("events.jsonl", 2, "signal"), ("events.1.jsonl", 1, "milestone")):
        record = {"timestamp": folders.iso(folders.STARTED + seconds), "type": kind}
        folders.append(folder / name, record | ({"rank": 1} if "1" in name else {}))
    found = runs.view(str(home), folders.RUN_ID, keys=()).events
    assert [(event.type, event.rank) for event in found] == [("milestone", 1), ("signal", None)]


def event_at(home: Path, seconds: float, **more: object) -> Event:
    folder = folders.write_run(home, seconds=100, processes=0)
    stamp = folders.iso(folders.STARTED + seconds)
    folders.append(folder / "events.sdk.jsonl", {"timestamp": stamp, "type": "milestone", **more})
    (event,) = runs.view(str(home), folders.RUN_ID, keys=()).events
    return event


def test_an_event_of_the_job_gets_the_measurements_of_its_moment(home: Path) -> None:
    found = event_at(home, 40.5).measurements
    read = reader.read_windows(folders.folder_of(home, folders.RUN_ID))
    windows = {round(window.timestamp - folders.STARTED): window for window in read}
    nearest = windows[40]
    assert found["cgroup_mem_current"] == nearest.values["cgroup_mem_current", ""]
    begin, end = nearest.clock["wait"]
    percent = 100 * float(nearest.values["wait_cputime", ""]) / (end - begin)  # type: ignore[arg-type]
    assert found["wait_pdcpu"] == pytest.approx(percent, abs=0.001)
    assert "wait_cputime" not in found


def test_an_event_long_after_the_last_window_gets_none(home: Path) -> None:
    assert event_at(home, 100 + 61).measurements == {}


def test_an_event_before_the_first_window_gets_none(home: Path) -> None:
    assert event_at(home, 0.1).measurements == {}


def test_what_an_event_measured_itself_is_left_alone(home: Path) -> None:
    assert event_at(home, 40, measurements={"own": 1}).measurements == {"own": 1}
