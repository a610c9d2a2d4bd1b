"""Samples from the store to an outlet: each once, in order, with its own time, through failures and restarts."""

import dataclasses
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import cast

import pytest

from jobmeter.delivery.positions import Positions
from jobmeter.delivery.pump import Outcome, Pump
from jobmeter.delivery.samples import Mark
from jobmeter.errors import StoreError
from jobmeter.model.run import Run
from jobmeter.service import index
from jobmeter.stores import Store
from support import folders, outlets
from support.outlets import Keeping, indexed

HOUR = 3600.0
NOW = float(int(time.time()))


def write_live(home: Path, seconds: int, ago: float) -> tuple[str, Path]:
    """Write a run that goes on."""
    run_id = outlets.run_id_at(NOW - ago)
    folder = folders.write_run(
        home, run_id=run_id, seconds=seconds, started=NOW - ago, ended=False, start=outlets.this_recorder()
    )
    return run_id, folder


def go_on(folder: Path, run_id: str, seconds: int, ago: float) -> None:
    """Write the seconds of a run that follow those it has."""
    lines = list(folders.usage(seconds, started=NOW - ago))
    have = len((folder / "usage.jsonl").read_bytes().splitlines())
    folders.append(folder / "usage.jsonl", *lines[have:])


def pump(outlet: Keeping, tmp_path: Path, reading: object, age: float = HOUR) -> Pump:
    place = tmp_path / "outlets" / "test.json"
    return Pump(outlet, Positions(place), reading, max_age_seconds=age, clock=lambda: NOW)  # type: ignore[arg-type]


def stored(opened: index.Index, run_id: str, key: str) -> list[tuple[int, float]]:
    one = opened.ask(lambda store: store.series(run_id, {key}, counters={key}))[0]
    return [(round(moment * 1000), value) for moment, value in zip(one.times, one.values, strict=True)]


def test_every_sample_of_the_store_is_handed_over_with_its_own_time(tmp_path: Path) -> None:
    run_id = outlets.run_id_at(NOW - 1000)
    folders.write_run(tmp_path / "home", run_id=run_id, seconds=700, started=NOW - 1000)
    outlet = Keeping()
    with indexed(tmp_path / "home") as (opened, reading):
        pump(outlet, tmp_path, reading).turn()
        points = outlet.points()
        assert points["jobmeter_proc_sum_rss_bytes", ""] == stored(opened, run_id, "proc_rss_total")
        deltas = stored(opened, run_id, "cgroup_cputime")
        sums = [round(total, 6) for total in accumulate(value for _, value in deltas)]
        begun, *rest = points["jobmeter_cgroup_cputime_seconds_total", ""]
        assert rest == [(moment, total) for (moment, _), total in zip(deltas, sums, strict=True)]
        assert begun[1] == 0.0
        assert 990 < deltas[0][0] - begun[0] < 1010
    assert len(outlet.batches) > 3
    # its state is of its end, not of what came before
    assert [value for _, value in points["jobmeter_run_state", "state=completed"]] == [1]


def test_a_run_that_goes_on_is_handed_over_once_however_often_one_looks(tmp_path: Path) -> None:
    run_id, folder = write_live(tmp_path / "home", 20, ago=100)
    outlet = Keeping()
    with indexed(tmp_path / "home") as (opened, reading):
        moving = pump(outlet, tmp_path, reading)
        for seconds in (20, 20, 31, 32, 60):
            go_on(folder, run_id, seconds, ago=100)
            moving.note([run_id])
            assert moving.turn() is None
        folders.append(folder / "run.jsonl", folders.end_record(60, started=NOW - 100))
        moving.note([run_id])
        moving.turn()
        points = outlet.points()
        assert points["jobmeter_proc_sum_rss_bytes", ""] == stored(opened, run_id, "proc_rss_total")
        sums = accumulate(value for _, value in stored(opened, run_id, "wait_cputime"))
        assert [value for _, value in points["jobmeter_wait_cputime_seconds_total", ""][1:]] == [
            round(total, 6) for total in sums
        ]
    for series in points.values():
        assert all(before < after for (before, _), (after, _) in pairwise(series))
    assert [value for _, value in points["jobmeter_run_state", "state=completed"]] == [1]


def test_a_new_server_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    run_id, folder = write_live(tmp_path / "home", 20, ago=100)
    first, second = Keeping(), Keeping()
    with indexed(tmp_path / "home") as (opened, reading):
        pump(first, tmp_path, reading).turn()
        go_on(folder, run_id, 45, ago=100)
        pump(second, tmp_path, reading).turn()
        rss, cpu = ("jobmeter_proc_sum_rss_bytes", ""), ("jobmeter_cgroup_cputime_seconds_total", "")
        assert first.points()[rss] + second.points()[rss] == stored(opened, run_id, "proc_rss_total")
        sums = [round(one, 6) for one in accumulate(v for _, v in stored(opened, run_id, "cgroup_cputime"))]
        assert [v for _, v in first.points()[cpu][1:] + second.points()[cpu]] == sums


def test_a_server_killed_while_sending_sends_that_very_batch_again(tmp_path: Path) -> None:
    run_id, folder = write_live(tmp_path / "home", 20, ago=100)
    first, second = Keeping(failures=[Outcome(taken=False, reason="no answer")]), Keeping()
    with indexed(tmp_path / "home") as (opened, reading):
        assert pump(first, tmp_path, reading).turn() == 1.0
        go_on(folder, run_id, 45, ago=100)
        pump(second, tmp_path, reading).turn()
        points = second.points()["jobmeter_proc_sum_rss_bytes", ""]
        assert points == stored(opened, run_id, "proc_rss_total")
    assert second.again == [True, False]
    assert second.batches[0][0].until.usage_ms == points[19][0]


def test_what_is_not_taken_is_tried_again_ever_more_slowly_and_not_lost(tmp_path: Path) -> None:
    run_id, _ = write_live(tmp_path / "home", 5, ago=100)
    busy = Outcome(taken=False, reason="503 busy")
    outlet = Keeping(failures=[busy, busy, dataclasses.replace(busy, retry_seconds=30.0), busy])
    with indexed(tmp_path / "home") as (_, reading):
        moving = pump(outlet, tmp_path, reading)
        assert [moving.turn() for _ in range(5)] == [1.0, 2.0, 30.0, 8.0, None]
    assert moving.counts.retries == 4
    assert moving.counts.trouble is None
    assert len(outlet.points()["jobmeter_proc_sum_rss_bytes", ""]) == 5
    assert run_id in json.loads((tmp_path / "outlets" / "test.json").read_text())["runs"]


def test_samples_older_than_an_hour_are_left_out_and_sums_count_them(tmp_path: Path) -> None:
    run_id, _ = write_live(tmp_path / "home", 300, ago=HOUR + 100)
    outlet = Keeping()
    with indexed(tmp_path / "home") as (opened, reading):
        pump(outlet, tmp_path, reading).turn()
        points = outlet.points()
        young = [pair for pair in stored(opened, run_id, "proc_rss_total") if pair[0] >= (NOW - HOUR) * 1000]
        assert points["jobmeter_proc_sum_rss_bytes", ""] == young
        total = sum(value for _, value in stored(opened, run_id, "cgroup_cputime"))
        assert points["jobmeter_cgroup_cputime_seconds_total", ""][-1][1] == pytest.approx(total, abs=1e-6)
        assert len(points["jobmeter_cgroup_cputime_seconds_total", ""]) == len(young)
    assert 190 < len(young) < 210


def test_what_grew_too_old_in_an_outage_is_counted_as_dropped(tmp_path: Path) -> None:
    run_id, folder = write_live(tmp_path / "home", 20, ago=500)
    outlet = Keeping()
    with indexed(tmp_path / "home") as (_, reading):
        pump(outlet, tmp_path, reading).turn()
        go_on(folder, run_id, 300, ago=500)
        late = pump(outlet, tmp_path, reading, age=250)
        late.turn()
    assert late.counts.dropped["too_old"] > 30 * 200
    assert len(outlet.points()["jobmeter_proc_sum_rss_bytes", ""]) < 100


def test_runs_that_ended_long_ago_are_not_told(tmp_path: Path) -> None:
    folders.write_run(tmp_path / "home", seconds=5, started=folders.STARTED)
    outlet = Keeping()
    with indexed(tmp_path / "home") as (_, reading):
        moving = pump(outlet, tmp_path, reading)
        moving.note([folders.RUN_ID])
        moving.turn()
    assert outlet.batches == []
    assert moving.counts.dropped == {}


def test_gauges_of_an_ended_run_are_over_and_sums_are_not(tmp_path: Path) -> None:
    run_id = outlets.run_id_at(NOW - 100)
    folders.write_run(tmp_path / "home", run_id=run_id, seconds=5, started=NOW - 100)
    outlet = Keeping()
    with indexed(tmp_path / "home") as (_, reading):
        pump(outlet, tmp_path, reading).turn()
    over = {family.sample_name for family, _ in outlet.batches[-1][-1].over}
    assert "jobmeter_proc_sum_rss_bytes" in over
    assert "jobmeter_run_state" in over
    assert not any(name.endswith("_total") for name in over)


def test_a_damaged_note_of_how_far_one_came_is_told_and_begun_anew(tmp_path: Path) -> None:
    place = tmp_path / "test.json"
    place.write_bytes(b'{"runs": {"a": {"usage_ms": "x"}}, "pending": {}}')
    positions = Positions(place)
    assert positions.marks == {}
    assert positions.trouble == "test.json is damaged: the last hour is sent again"


def test_marks_are_read_back_as_they_were_and_are_nobody_elses(tmp_path: Path) -> None:
    place = tmp_path / "folder" / "test.json"
    positions = Positions(place)
    mark = Mark(usage_ms=12345, steps_ms={0: 7, 3: 9}, final=True)
    positions.begin({"run-1": mark})
    assert Positions(place).pending == {"run-1": mark}
    positions.finish()
    assert Positions(place).marks == {"run-1": mark}
    assert Positions(place).pending == {}
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_run_that_was_lost_and_is_heard_of_again_is_told_on(tmp_path: Path) -> None:
    run_id = outlets.run_id_at(NOW - 300)
    # recorded on another host: nothing but silence tells that it was lost
    folder = folders.write_run(tmp_path / "home", run_id=run_id, seconds=20, started=NOW - 300, ended=False)
    for file in folder.iterdir():
        os.utime(file, (NOW - 200, NOW - 200))
    outlet = Keeping()
    with indexed(tmp_path / "home") as (opened, reading):
        moving = pump(outlet, tmp_path, reading)
        moving.turn()
        (run,) = opened.ask(lambda store: store.briefs())
        lost = outlet.batches[-1][-1]
        go_on(folder, run_id, 200, ago=300)
        folders.append(folder / "run.jsonl", folders.end_record(200, started=NOW - 300))
        moving.note([run_id])
        moving.turn()
        assert outlet.points()["jobmeter_proc_sum_rss_bytes", ""] == stored(opened, run_id, "proc_rss_total")
    assert run.status.value == "lost"
    assert not lost.until.final
    assert "state=lost" in {rest for name, rest in outlet.points() if name == "jobmeter_run_state"}
    assert "state=completed" in {rest for name, rest in outlet.points() if name == "jobmeter_run_state"}


def test_a_clock_that_was_set_back_disorders_nothing(tmp_path: Path) -> None:
    run_id, folder = write_live(tmp_path / "home", 20, ago=100)
    lines = list(folders.usage(40, processes=0, started=NOW - 100))
    outlet = Keeping()
    with indexed(tmp_path / "home") as (opened, reading):
        moving = pump(outlet, tmp_path, reading)
        moving.turn()
        for second, line in enumerate(lines[20:], 21):
            # five seconds back, for the rest of the run
            line["timestamp"] = folders.iso(NOW - 100 + second - 5)
        for part in (lines[20:23], lines[23:30], lines[30:]):
            folders.append(folder / "usage.jsonl", *part)
            moving.note([run_id])
            moving.turn()
        deltas = [value for _, value in stored(opened, run_id, "cgroup_cputime")]
    points = outlet.points()
    for series in points.values():
        assert all(before < after for (before, _), (after, _) in pairwise(series))
    assert points["jobmeter_cgroup_cputime_seconds_total", ""][-1][1] == round(sum(deltas), 6)


def test_a_clock_that_is_far_ahead_is_waited_for(tmp_path: Path) -> None:
    run_id, folder = write_live(tmp_path / "home", 20, ago=100)
    ahead = list(folders.usage(10, processes=0, started=NOW + 1000))
    outlet = Keeping()
    now = [NOW]
    with indexed(tmp_path / "home") as (opened, reading):
        positions = Positions(tmp_path / "test.json")
        moving = Pump(outlet, positions, reading, max_age_seconds=HOUR, clock=lambda: now[0])
        moving.turn()
        folders.append(folder / "usage.jsonl", *ahead)
        moving.note([run_id])
        moving.turn()
        assert len(outlet.points()["jobmeter_proc_sum_rss_bytes", ""]) == 20
        now[0] = NOW + 900
        moving.note([run_id])
        moving.turn()
        assert outlet.points()["jobmeter_proc_sum_rss_bytes", ""] == stored(opened, run_id, "proc_rss_total")


def test_a_run_that_invents_metrics_without_end_is_told_of_so_many(tmp_path: Path) -> None:
    run_id, folder = write_live(tmp_path / "home", 5, ago=100)
    metrics = {f"made up {number}": number for number in range(3000)}
    step = {"timestamp": folders.iso(NOW - 50), "step": 1, "rank": 0, "source": "sdk", "metrics": metrics}
    folders.append(folder / "steps.jsonl", step)
    outlet = Keeping()
    with indexed(tmp_path / "home") as (_, reading):
        moving = pump(outlet, tmp_path, reading)
        moving.turn()
    assert len(outlet.points()) == 2000
    assert ("jobmeter_proc_sum_rss_bytes", "") in outlet.points()
    assert moving.counts.dropped["too_many_series"] > 1000
    assert run_id in Positions(tmp_path / "outlets" / "test.json").marks


def test_a_run_that_could_not_be_read_is_handed_over_later_and_holds_no_other_up(tmp_path: Path) -> None:
    ids = [outlets.run_id_at(NOW - 100, suffix) for suffix in ("00000a", "00000b", "00000c")]
    for run_id in ids:
        folders.write_run(tmp_path / "home", run_id=run_id, seconds=5, started=NOW - 100)
    outlet = Keeping()
    with indexed(tmp_path / "home") as (_, reading):
        failing = [ids[1]]

        @contextmanager
        def shaky() -> Iterator[Store]:
            with reading() as store:
                yield cast("Store", Shaky(store, failing))

        moving = pump(outlet, tmp_path, shaky)
        with pytest.raises(StoreError, match="the index is busy"):
            moving.turn()
        assert [part.run.run_id for batch in outlet.batches for part in batch] == [ids[0], ids[2]]
        failing.clear()
        assert moving.turn() is None
    assert [part.run.run_id for batch in outlet.batches for part in batch] == [ids[0], ids[2], ids[1]]


def test_nothing_is_lost_of_a_run_that_was_half_read(tmp_path: Path) -> None:
    run_id, folder = write_live(tmp_path / "home", 20, ago=100)
    outlet = Keeping()
    with indexed(tmp_path / "home") as (opened, reading):
        failing: list[str] = []

        @contextmanager
        def shaky() -> Iterator[Store]:
            with reading() as store:
                yield cast("Store", Shaky(store, failing))

        moving = pump(outlet, tmp_path, shaky)
        moving.turn()
        go_on(folder, run_id, 30, ago=100)
        moving.note([run_id])
        failing.append("step_statistics")
        with pytest.raises(StoreError):
            moving.turn()
        failing.clear()
        assert moving.turn() is None
        assert outlet.points()["jobmeter_proc_sum_rss_bytes", ""] == stored(opened, run_id, "proc_rss_total")
    assert len(outlet.batches) == 2


class Shaky:
    """A store that cannot read some things for a while: runs by their ids, or what a method reads."""

    def __init__(self, store: Store, failing: list[str]) -> None:
        self._store = store
        self._failing = failing

    def step_statistics(self, run_id: str) -> object:
        """Read what is known of steps, or fail as told."""
        if "step_statistics" in self._failing:
            raise StoreError("the index is busy", hint="try again")
        return self._store.step_statistics(run_id)

    def run(self, run_id: str) -> Run | None:
        """Read a run, or fail as told."""
        if run_id in self._failing:
            raise StoreError("the index is busy", hint="try again")
        return self._store.run(run_id)

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)
