"""What live readers are told when the files of a run grew, whoever indexed them."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.service import index, live, live_news
from jobmeter.service.keeping import Change, Changed
from support import folders

Told = list[tuple[str, dict[str, object]]]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Desk:
    """A home with an index, and one reader who hears all news of it."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "home"
        self.clock = Clock()
        self.hub = live.Hub()
        self.opened = index.open_index(self.home, path=tmp_path / "index.db")
        self._news = live_news.News(self.hub, clock=self.clock)
        self.reader = asyncio.run(self._subscribed())
        self._place = live.Place(0, 0)

    async def _subscribed(self) -> live.Reader:
        return self.hub.subscribe(live.Interest())

    def live_run(self, seconds: int = 2, **context: object) -> Path:
        return folders.write_run(
            self.home, seconds=seconds, start=folders.this_recorder(), context=context, ended=False
        )

    def told(self, change: Change = Change.GREW, *, refresh: bool = True) -> Told:
        """Index what is new, tell of it, and give what the reader heard."""
        if refresh:
            self.opened.refresh()
        # the reader's loop ended with the test's scene: it hears by its place in the history
        self.hub._readers.add(self.reader)
        changes = [Changed(folders.RUN_ID, change)]
        self.opened.ask(lambda store: self._news(store, changes))
        heard, self._place = self.hub.take(self._place, live.Interest())
        blocks = [block.split("\n") for block in heard.decode().split("\n\n") if block]
        return [
            (block[1].removeprefix("event: "), json.loads(block[2].removeprefix("data: ")))
            for block in blocks
        ]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.opened.close()


def kinds(told: Told) -> list[str]:
    return [kind for kind, _ in told]


def only(told: Told, kind: str) -> dict[str, object]:
    [data] = [data for known, data in told if known == kind]
    return data


def test_a_new_run_is_told_from_its_beginning(desk: Desk) -> None:
    desk.live_run()
    told = desk.told(Change.NEW)
    assert kinds(told) == ["run", "sample", "log"]
    run = only(told, "run")
    assert (run["run_id"], run["status"], run["project"]) == (folders.RUN_ID, "running", "app")
    assert only(told, "log")["streams"] == {"stdout": {"from": 0, "to": 100}}
    sample = only(told, "sample")
    assert sample["windows"] == 2
    assert str(sample["timestamp"]).startswith("2026-11-15T09:50:03")


def test_only_what_is_new_of_a_running_run_is_told(desk: Desk) -> None:
    folder = desk.live_run()
    desk.told(Change.NEW)
    assert desk.told() == []
    folders.append(
        folder / "usage.jsonl",
        {"timestamp": "2026-11-15T09:50:10.000Z", "measurements": {"host_load": 1.5, "nvml_util": {"0": 97}}},
        {"timestamp": "2026-11-15T09:50:11.000Z", "measurements": {"host_load": 2.5, "nvml_util": {"1": 42}}},
    )
    assert only(desk.told(), "sample") == {
        "run_id": folders.RUN_ID,
        "timestamp": "2026-11-15T09:50:11.000Z",
        "windows": 2,
        "values": {"host_load": 2.5, "nvml_util": {"0": 97, "1": 42}},
    }


def test_what_another_process_indexed_first_is_told_all_the_same(desk: Desk, tmp_path: Path) -> None:
    folder = desk.live_run()
    desk.told(Change.NEW)
    folders.append(
        folder / "usage.jsonl", {"timestamp": "2026-11-15T09:50:10.000Z", "measurements": {"host_load": 9}}
    )
    with index.open_index(desk.home, path=tmp_path / "index.db") as another:
        another.refresh()
    assert only(desk.told(refresh=False), "sample")["values"] == {"host_load": 9}


def test_single_processes_are_no_part_of_a_sample(desk: Desk) -> None:
    folder = desk.live_run()
    desk.told(Change.NEW)
    measured = {"proc_rss": {"4712@98123": 4096}, "proc_rss_total": 4096}
    folders.append(
        folder / "usage.jsonl", {"timestamp": "2026-11-15T09:50:10.000Z", "measurements": measured}
    )
    assert only(desk.told(), "sample")["values"] == {"proc_rss_total": 4096}


def test_of_very_many_windows_the_latest_is_told(desk: Desk) -> None:
    folder = desk.live_run()
    desk.told(Change.NEW)
    folders.append(folder / "usage.jsonl", *folders.usage(2_000, processes=0))
    sample = only(desk.told(), "sample")
    assert str(sample["timestamp"]).startswith("2026-11-15T10:23:21")
    assert 1 < int(str(sample["windows"])) < 2_000


def test_steps_events_and_output_are_told_as_they_come(desk: Desk) -> None:
    folder = desk.live_run()
    desk.told(Change.NEW)
    for step in (1, 2):
        record = {"timestamp": "2026-11-15T09:50:10.000Z", "step": step, "rank": 0, "source": "sdk"}
        folders.append(folder / "steps.jsonl", record | {"metrics": {"loss": 1.0 / step}})
    folders.append(
        folder / "events.jsonl",
        {"timestamp": "2026-11-15T09:50:10.000Z", "type": "oom", "details": {"count": 1}},
    )
    with (folder / "stdout").open("ab") as file:
        file.write(b"x" * 11)
    told = desk.told()
    step = only(told, "step")
    assert (step["run_id"], step["count"], step["last_step"]) == (folders.RUN_ID, 2, 2)
    assert step["metrics"] == {"loss": {"first": 1.0, "last": 0.5, "min": 0.5, "max": 1.0}}
    assert only(told, "event") == {
        "run_id": folders.RUN_ID,
        "timestamp": "2026-11-15T09:50:10.000Z",
        "type": "oom",
        "details": {"count": 1},
    }
    assert only(told, "log")["streams"] == {"stdout": {"from": 100, "to": 111}}
    assert desk.told() == []


def test_numbers_that_move_are_told_now_and_then_and_facts_at_once(desk: Desk) -> None:
    folder = desk.live_run()
    desk.told(Change.NEW)
    sample = {"timestamp": "2026-11-15T09:50:20.000Z", "measurements": {"cgroup_mem_current": 2**40}}
    folders.append(folder / "usage.jsonl", sample)
    assert kinds(desk.told()) == ["sample"]
    desk.clock.now += live_news.NUMBERS_SECONDS
    assert kinds(desk.told()) == ["run"]
    folders.append(
        folder / "notes.jsonl", {"timestamp": "2026-11-15T09:51:00.000Z", "type": "name", "name": "better"}
    )
    assert only(desk.told(), "run")["name"] == "better"


def test_the_end_of_a_run_is_told_with_its_last_sample(desk: Desk) -> None:
    folder = desk.live_run()
    desk.told(Change.NEW)
    folders.append(
        folder / "usage.jsonl", {"timestamp": "2026-11-15T09:51:00.000Z", "measurements": {"host_load": 3}}
    )
    folders.append(folder / "run.jsonl", folders.end_record())
    told = desk.told(Change.ENDED)
    assert kinds(told) == ["run", "sample"]
    assert only(told, "run")["status"] == "completed"


def test_of_a_run_that_had_ended_only_its_facts_are_told(desk: Desk) -> None:
    folders.write_run(desk.home)
    assert kinds(desk.told(Change.NEW)) == ["run"]


def test_a_running_run_found_at_the_start_is_told_from_now_on(desk: Desk) -> None:
    folder = desk.live_run()
    assert kinds(desk.told(Change.GREW)) == ["run"]
    folders.append(
        folder / "usage.jsonl", {"timestamp": "2026-11-15T09:50:10.000Z", "measurements": {"host_load": 1}}
    )
    assert only(desk.told(), "sample")["windows"] == 1


def test_a_run_that_is_gone_is_told_as_removed(desk: Desk) -> None:
    desk.live_run()
    desk.told(Change.NEW)
    assert desk.told(Change.GONE) == [("run", {"run_id": folders.RUN_ID, "removed": True})]


def test_nothing_is_prepared_while_nobody_reads(desk: Desk) -> None:
    desk.live_run()
    desk.opened.refresh()
    quiet = live.Hub()
    news = live_news.News(quiet)
    desk.opened.ask(lambda store: news(store, [Changed(folders.RUN_ID, Change.NEW)]))
    assert quiet.held_bytes == 0


def test_a_reader_who_comes_back_after_a_time_when_nobody_read_must_catch_up() -> None:
    hub = live.Hub()

    async def scene() -> bytes:
        before = f"{hub.epoch}-0"
        assert not hub.is_wanted()
        return await anext(hub.subscribe(live.Interest(), last_event_id=before).chunks())

    assert b"event: reset" in asyncio.run(scene())
    assert hub.is_wanted()
