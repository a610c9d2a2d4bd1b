"""Which runs and values are on the page that is scraped."""

import math
import time
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families as parse

from jobmeter.service import scraping
from jobmeter.service.keeping import Change, Changed
from support import folders, outlets

NOW = float(int(time.time()))
RSS = "jobmeter_proc_sum_rss_bytes"
CPU = "jobmeter_cgroup_cputime_seconds_total"


def scraped(scraper: scraping.Scraper, now: float = NOW) -> dict[tuple[str, str], float]:
    """Read the page: name and run, value; of the server, name and nothing."""
    text = scraper.render(openmetrics=False, now=now).decode()
    return {
        (sample.name, sample.labels.get("run_id", "")): sample.value
        for family in parse(text)
        for sample in family.samples
    }


def write_live(home: Path, seconds: int, ago: float, suffix: str = "7f3a9c") -> tuple[str, Path]:
    run_id = outlets.run_id_at(NOW - ago, suffix)
    start = outlets.this_recorder()
    folder = folders.write_run(
        home, run_id=run_id, seconds=seconds, started=NOW - ago, ended=False, start=start
    )
    return run_id, folder


def test_sums_grow_by_what_was_measured_since_the_last_scrape(tmp_path: Path) -> None:
    run_id, folder = write_live(tmp_path / "home", 30, ago=60)
    lines = list(folders.usage(50, started=NOW - 60))
    with outlets.indexed(tmp_path / "home") as (opened, reading):
        scraper = scraping.Scraper(reading)
        first = scraped(scraper)
        folders.append(folder / "usage.jsonl", *lines[33:])
        second = scraped(scraper)
        (rss,) = opened.ask(lambda store: store.series(run_id, {"proc_rss_total"}))
        (cpu,) = opened.ask(lambda store: store.series(run_id, {"cgroup_cputime"}))
    assert first[CPU, run_id] == round(math.fsum(cpu.values[:30]), 6)
    assert second[CPU, run_id] == round(math.fsum(cpu.values), 6)
    assert (first[RSS, run_id], second[RSS, run_id]) == (rss.values[29], rss.values[49])


def test_a_line_that_is_half_written_counts_once_it_is_whole(tmp_path: Path) -> None:
    run_id, folder = write_live(tmp_path / "home", 10, ago=60)
    line = folders.dump(list(folders.usage(11, started=NOW - 60))[-1])
    with outlets.indexed(tmp_path / "home") as (opened, reading):
        scraper = scraping.Scraper(reading)
        before = scraped(scraper)[CPU, run_id]
        with (folder / "usage.jsonl").open("ab") as file:
            file.write(line[:100])
        assert scraped(scraper)[CPU, run_id] == before
        with (folder / "usage.jsonl").open("ab") as file:
            file.write(line[100:])
        after = scraped(scraper)[CPU, run_id]
        (cpu,) = opened.ask(lambda store: store.series(run_id, {"cgroup_cputime"}))
    assert after == round(math.fsum(cpu.values), 6)
    assert after > before


def test_a_gauge_that_nobody_measures_any_more_is_not_shown_and_its_sum_is(tmp_path: Path) -> None:
    run_id, _ = write_live(tmp_path / "home", 10, ago=60)
    with outlets.indexed(tmp_path / "home") as (_, reading):
        scraper = scraping.Scraper(reading)
        assert (RSS, run_id) in scraped(scraper)
        later = scraped(scraper, NOW + 121)
    assert (RSS, run_id) not in later
    assert (CPU, run_id) in later


def test_an_ended_run_leaves_its_sums_for_ten_minutes(tmp_path: Path) -> None:
    run_id = outlets.run_id_at(NOW - 100)
    folders.write_run(tmp_path / "home", run_id=run_id, seconds=50, started=NOW - 100)
    with outlets.indexed(tmp_path / "home") as (_, reading):
        scraper = scraping.Scraper(reading)
        now, soon, later = scraped(scraper), scraped(scraper, NOW + 500), scraped(scraper, NOW + 600)
    assert now["jobmeter_run_exit_code", run_id] == 0
    assert (RSS, run_id) not in now
    assert (CPU, run_id) in soon
    assert {run for _, run in later} == {""}


def test_a_run_that_began_and_ended_between_two_scrapes_is_seen(tmp_path: Path) -> None:
    with outlets.indexed(tmp_path / "home") as (opened, reading):
        scraper = scraping.Scraper(reading)
        assert {run for _, run in scraped(scraper)} == {""}
        run_id = outlets.run_id_at(NOW - 10)
        folders.write_run(tmp_path / "home", run_id=run_id, seconds=5, started=NOW - 10)
        opened.refresh()
        opened.ask(lambda store: scraper.observe(store, [Changed(run_id, Change.NEW)]))
        assert (CPU, run_id) in scraped(scraper)


def test_a_server_that_nobody_scrapes_remembers_no_run_for_longer_than_it_shows_it(tmp_path: Path) -> None:
    moments = iter(NOW + number for number in range(5_000))
    with outlets.indexed(tmp_path / "home") as (opened, reading):
        scraper = scraping.Scraper(reading, clock=lambda: next(moments))
        for number in range(5_000):
            change = Changed(outlets.run_id_at(NOW, f"{number:06x}"), Change.NEW)
            opened.ask(lambda store, change=change: scraper.observe(store, [change]))  # type: ignore[misc]
    assert len(scraper._seen_at) == 601


def test_a_run_that_was_lost_is_told_as_such(tmp_path: Path) -> None:
    gone = {**outlets.this_recorder(), "recorder": {"version": "0.1.0", "pid": 1, "start_ticks": 1}}
    run_id = outlets.run_id_at(NOW - 60)
    folders.write_run(tmp_path / "home", run_id=run_id, seconds=20, started=NOW - 60, ended=False, start=gone)
    with outlets.indexed(tmp_path / "home") as (_, reading):
        text = scraping.Scraper(reading).render(openmetrics=False, now=NOW).decode()
    assert 'state="lost"' in text
    assert RSS not in text


def test_the_page_says_how_many_runs_are_alive(tmp_path: Path) -> None:
    for number in range(3):
        write_live(tmp_path / "home", 2, ago=60, suffix=f"00000{number}")
    with outlets.indexed(tmp_path / "home") as (_, reading):
        text = scraping.Scraper(reading).render(openmetrics=False, now=NOW).decode()
    assert 'jobmeter_runs{state="running"} 3.0' in text
    assert 'jobmeter_runs{state="paused"} 0.0' in text
