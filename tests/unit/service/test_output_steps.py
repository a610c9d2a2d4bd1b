"""Steps out of a job's output while indexing: incremental, bounded, timed by arrival, never twice."""

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobmeter.model.run import Output, Run, Status
from jobmeter.model.steps import Step
from jobmeter.model.view import Event
from jobmeter.service import index, output_steps, runs
from jobmeter.stores import Position
from support import folders

LIVE = folders.this_recorder()


class Counter:
    """A small reader: every whole line `step N` is a step; it remembers how many it has seen."""

    def __init__(self, state: dict[str, object] | None) -> None:
        known = state or {}
        self.seen = int(str(known.get("seen", 0)))
        self._offset = int(str(known.get("offset", 0)))
        self._rest = b""
        self._found: list[Step] = []
        self.fed: list[tuple[int, int]] = []

    def feed(
        self, data: bytes, arrived_at: Callable[[int], float | None], offset: int, *, final: bool = False
    ) -> None:
        if not self._rest:
            self._offset = offset
        self.fed.append((offset, len(data)))
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in [*lines, self._rest] if final else lines:
            if line.startswith(b"step "):
                self.seen += 1
                moment = arrived_at(self._offset + len(line) - 1)
                number = int(line.removeprefix(b"step "))
                metrics = {"seen": self.seen}
                self._found.append(
                    Step(timestamp=moment, step=number, rank=0, source="log:test", metrics=metrics)
                )
            self._offset += len(line) + 1

    def take(self) -> tuple[list[Step], list[Event]]:
        found, self._found = self._found, []
        return found, []

    @property
    def consumed(self) -> int:
        return self._offset

    def state(self) -> dict[str, object]:
        return {"seen": self.seen, "offset": self._offset}


def make(state: dict[str, object] | None, bars: output_steps.LineReader | None) -> Counter:
    del bars
    return Counter(state)


def run_in(folder: Path, *outputs: Output) -> Run:
    captured = (Output(stream="stdout", mode="captured", path="stdout"),)
    return Run(
        run_id="r", job_id="r", status=Status.RUNNING, command=(), folder=str(folder), outputs=outputs or captured
    )  # fmt: skip


def mark(folder: Path, stream: str, offset: int, seconds: float) -> None:
    with (folder / "output.index").open("a") as file:
        file.write(json.dumps([stream, offset, folders.iso(1000.0 + seconds)]) + "\n")


def look(
    run: Run, since: dict[str, Position], *, closed: bool = False, most_bytes: int = 1 << 30
) -> tuple[list[Step], bool]:
    """Look once, as indexing does; `since` is brought up to where the look ended."""
    reader = output_steps.OutputReader(run, dict(since), make, closed=closed)
    steps: list[Step] = []
    for part in reader.parts(output_steps.Patience(60.0, most_bytes)):
        since.update(part.until)
        for found in part.steps.values():
            steps += found
    return steps, reader.complete


def test_output_is_read_as_far_as_its_arrival_is_known(tmp_path: Path) -> None:
    run, since = run_in(tmp_path), dict[str, Position]()
    (tmp_path / "stdout").write_bytes(b"step 1\nstep 2\nstep 3\n")
    assert look(run, since) == ([], True)
    mark(tmp_path, "stdout", 7, 1.5)
    mark(tmp_path, "stderr", 999, 2.0)
    mark(tmp_path, "stdout", 16, 3.0)
    steps, _ = look(run, since)
    assert [(step.step, step.timestamp) for step in steps] == [(1, 1001.5), (2, 1003.0)]
    mark(tmp_path, "stdout", 21, 4.0)
    steps, _ = look(run, since)
    assert [(step.step, step.timestamp, step.metrics["seen"]) for step in steps] == [(3, 1004.0, 3)]
    assert look(run, since) == ([], True)


def test_the_end_of_a_run_gives_the_rest_without_a_time(tmp_path: Path) -> None:
    run, since = run_in(tmp_path), dict[str, Position]()
    (tmp_path / "stdout").write_bytes(b"step 1\nstep 2")
    mark(tmp_path, "stdout", 7, 1.0)
    assert len(look(run, since)[0]) == 1
    steps, complete = look(run, since, closed=True)
    assert ([(step.step, step.timestamp) for step in steps], complete) == ([(2, None)], True)
    (tmp_path / "stdout").write_bytes(b"step 1\nstep 2\nstep 3\n")
    assert look(run, since, closed=True) == ([], True)


def test_one_look_reads_no_more_than_it_may_and_the_next_goes_on(tmp_path: Path) -> None:
    run, since = run_in(tmp_path), dict[str, Position]()
    (tmp_path / "stdout").write_bytes(b"".join(b"step %06d\n" % n for n in range(1000)))
    found: list[int] = []
    complete, looks = False, 0
    while not complete:
        steps, complete = look(run, since, closed=True, most_bytes=2500)
        found += [step.step for step in steps]
        looks += 1
    assert (found, looks) == (list(range(1000)), 5)


def test_a_look_whose_time_is_over_reads_nothing(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    (tmp_path / "stdout").write_bytes(b"step 1\n")
    reader = output_steps.OutputReader(run, {}, make, closed=True)
    assert list(reader.parts(output_steps.Patience(0.0))) == []
    assert not reader.complete


def test_an_output_that_shows_no_step_for_long_is_not_searched_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_steps, "QUIET_BYTES", 1000)
    run, since = run_in(tmp_path), dict[str, Position]()
    (tmp_path / "stdout").write_bytes(b"x" * 99 + b"\n" + b"nothing\n" * 200 + b"step 1\n" * 3)
    assert look(run, since, closed=True) == ([], True)
    assert json.loads(since["output:stdout"].state)["done"] is True
    assert look(run, since, closed=True) == ([], True)


def test_an_output_that_showed_one_step_is_searched_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_steps, "QUIET_BYTES", 1000)
    monkeypatch.setattr(output_steps, "SAVE_BYTES", 100)
    monkeypatch.setattr(output_steps, "FEED_BYTES", 100)
    run = run_in(tmp_path)
    (tmp_path / "stdout").write_bytes(b"step 1\n" + b"nothing\n" * 1000 + b"step 2\n")
    steps, _ = look(run, {}, closed=True)
    assert [step.step for step in steps] == [1, 2]


def test_a_file_of_the_users_own_is_read_from_where_the_job_began_to_where_it_ended(tmp_path: Path) -> None:
    shared = tmp_path / "slurm.out"
    shared.write_bytes(b"step 1\nstep 2\nstep 3\nstep 4\n")
    folder = tmp_path / "run"
    folder.mkdir()
    run = run_in(folder, Output(stream="stdout", mode="inherited", path=str(shared), offset=7))
    mark(folder, "stdout", 21, 1.0)
    steps, _ = look(run, {}, closed=True)
    assert [step.step for step in steps] == [2, 3]


def test_a_file_that_belongs_to_somebody_else_is_not_the_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "slurm.out"
    shared.write_bytes(b"step 1\n")
    run = run_in(tmp_path, Output(stream="stdout", mode="inherited", path=str(shared)))
    mark(tmp_path, "stdout", 7, 1.0)
    assert len(look(run, {})[0]) == 1
    os.chown(shared, 12345, -1)
    assert look(run, {}) == ([], True)
    shared.unlink()
    assert look(run, {}) == ([], True)


def test_a_later_run_that_overwrote_the_file_gives_this_one_no_steps(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(b"step 1\nstep 2\n")
    output = Output(
        stream="stdout", mode="inherited", path=str(log), end=14, crc32=zlib.crc32(b"step 1\nstep 2\n")
    )
    run = run_in(tmp_path, output)
    mark(tmp_path, "stdout", 14, 1.0)
    assert [step.step for step in look(run, {}, closed=True)[0]] == [1, 2]
    log.write_bytes(b"step 7\nstep 8\nstep 9\n")
    assert look(run, {}, closed=True) == ([], True)


def test_an_output_is_not_read_past_its_end(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(b"step 1\nstep 2\n")
    run = run_in(tmp_path, Output(stream="stdout", mode="inherited", path=str(log), end=7))
    mark(tmp_path, "stdout", 14, 1.0)
    assert [step.step for step in look(run, {}, closed=True)[0]] == [1]


def test_a_compressed_output_is_read_on(tmp_path: Path) -> None:
    run, since = run_in(tmp_path), dict[str, Position]()
    (tmp_path / "stdout").write_bytes(b"step 1\nstep 2\n")
    mark(tmp_path, "stdout", 7, 1.0)
    assert len(look(run, since)[0]) == 1
    (tmp_path / "stdout").unlink()
    (tmp_path / "stdout.gz").write_bytes(gzip.compress(b"step 1\nstep 2\n"))
    assert [step.step for step in look(run, since, closed=True)[0]] == [2]


def test_two_streams_are_read_in_the_order_their_bytes_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_steps, "FEED_BYTES", 7)
    outputs = [Output(stream=stream, mode="captured", path=stream) for stream in ("stdout", "stderr")]
    run = run_in(tmp_path, *outputs)
    (tmp_path / "stdout").write_bytes(b"step 1\nstep 3\n")
    (tmp_path / "stderr").write_bytes(b"step 2\nstep 4\n")
    marks = [("stdout", 7, 1), ("stderr", 7, 2), ("stdout", 14, 3), ("stderr", 14, 4)]
    for stream, offset, seconds in marks:
        mark(tmp_path, stream, offset, seconds)
    order: list[tuple[str, int]] = []

    class Noting(Counter):
        def __init__(self, state: dict[str, object] | None, name: str) -> None:
            super().__init__(state)
            self.name = name

        def feed(
            self, data: bytes, arrived_at: Callable[[int], float | None], offset: int, *, final: bool = False
        ) -> None:
            order.append((self.name, offset))
            super().feed(data, arrived_at, offset, final=final)

    def noting(state: dict[str, object] | None, bars: output_steps.LineReader | None) -> Noting:
        return Noting(state, "stderr" if bars is None else "stdout")

    list(output_steps.OutputReader(run, {}, noting, closed=False).parts(output_steps.Patience(60.0)))
    assert order == [("stdout", 0), ("stderr", 0), ("stdout", 7), ("stderr", 7)]


def test_garbage_in_the_index_of_arrivals_costs_a_time_and_no_step(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    (tmp_path / "stdout").write_bytes(b"step 1\nstep 2\n")
    (tmp_path / "output.index").write_bytes(b'garbage\n["stdout", "x", 1]\n')
    mark(tmp_path, "stdout", 14, 1.0)
    assert [step.timestamp for step in look(run, {})[0]] == [1001.0, 1001.0]


def test_rows_and_bars_seen_at_one_look_belong_together_whichever_file_was_looked_at_first(
    tmp_path: Path,
) -> None:
    outputs = [Output(stream=stream, mode="captured", path=stream) for stream in ("stdout", "stderr")]
    run = run_in(tmp_path, *outputs)
    rows = "".join(HF % (3.0 - n / 10, n / 4) for n in (1, 2))
    bars = "".join(f"\r{' ' * 20}\r\r {25 * n}%|##   | {3 * n}/12 [00:0{n}<00:09, 3.00it/s]" for n in (1, 2))
    (tmp_path / "stdout").write_text(rows)
    (tmp_path / "stderr").write_text("\r  0%|     | 0/12 [00:00<?, ?it/s]" + bars + "\n")
    for stream, later in (("stdout", 0.0), ("stderr", 0.001)):
        mark(tmp_path, stream, (tmp_path / stream).stat().st_size, 1.0 + later)
    reader = output_steps.OutputReader(run, {}, output_steps.line_reader, closed=True)
    (part,) = reader.parts(output_steps.Patience(60.0))
    assert [step.step for step in part.steps["stdout"]] == [3, 6]


HF = "{'loss': %.4f, 'grad_norm': 1.5, 'learning_rate': 0.0001, 'epoch': %.2f}\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def opened(home: Path, tmp_path: Path) -> Iterator[index.Index]:
    with index.open_index(home, path=tmp_path / "index.db") as found:
        yield found


def write_output(folder: Path, rows: int, *, begin: int = 0) -> None:
    with (folder / "stdout").open("ab") as file:
        for row in range(begin, begin + rows):
            file.write((HF % (3 / (row + 1), row / 10)).encode())
            with (folder / "output.index").open("a") as marks:
                stamp = folders.iso(folders.STARTED + row)
                marks.write(json.dumps(["stdout", file.tell(), stamp]) + "\n")


def losses(opened: index.Index, run_id: str = folders.RUN_ID) -> list[float]:
    found = opened.ask(lambda store: store.steps(run_id))
    return [value for table in found for value in table.columns["loss"].values]


def test_a_script_that_knows_nothing_of_us_has_steps(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3, ended=False, start=LIVE)
    (folder / "stdout").write_bytes(b"")
    expected = [round(3 / (row + 1), 4) for row in range(30)]
    for begin in range(0, 30, 10):
        write_output(folder, 10, begin=begin)
        opened.refresh()
    folders.append(folder / "run.jsonl", folders.end_record(3))
    opened.refresh()
    assert losses(opened) == expected
    run = opened.ask(lambda store: store.run(folders.RUN_ID))
    assert run is not None
    assert run.steps is not None
    assert (run.steps.source, run.steps.count, run.steps.metrics["loss"].last) == ("log:hf", 30, 0.1)
    assert opened.ask(lambda store: store.unfinished()) == {}


def test_a_huge_log_is_finished_over_several_looks_or_at_once_when_asked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "LOOK_BYTES", 500)
    for run_id in (folders.RUN_ID, "20261116T000000Z-aaaaaa"):
        folder = folders.write_run(home, run_id=run_id, seconds=3)
        (folder / "stdout").write_bytes(b"")
        write_output(folder, 30)
    with index.open_index(home) as opened:
        assert opened.refresh().unsearched == ["20261116T000000Z-aaaaaa", folders.RUN_ID]
        waiting = opened.ask(lambda store: store.unfinished())
        assert waiting == {folders.RUN_ID: Status.COMPLETED, "20261116T000000Z-aaaaaa": Status.COMPLETED}
    assert runs.step_series(str(home), folders.RUN_ID, "loss").values[-1] == 0.1
    with index.open_index(home) as opened:
        assert len(losses(opened, folders.RUN_ID)) == 30
        assert 0 < len(losses(opened, "20261116T000000Z-aaaaaa")) < 30
        for _ in range(10):
            opened.refresh()
        assert len(losses(opened, "20261116T000000Z-aaaaaa")) == 30
        assert opened.ask(lambda store: store.unfinished()) == {}
