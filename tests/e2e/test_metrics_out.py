"""Metrics where teams have theirs: a real Prometheus scrapes and is written to, so is a real VictoriaMetrics."""

import os
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pytest

from jobmeter.delivery.positions import Positions
from jobmeter.delivery.pump import Outcome, Pump
from jobmeter.delivery.remotewrite import RemoteWrite, RemoteWriteSettings
from jobmeter.delivery.samples import Mark, Points, Slice
from jobmeter.exporters import metric_names
from jobmeter.model.measurement import Kind
from jobmeter.service import index
from jobmeter.stores import Store
from support import folders, metricservers, outlets, server
from support.metricservers import MetricServer

HOUR = 3600.0
Pairs = list[tuple[int, float]]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetricServer]:
    with metricservers.prometheus(tmp_path_factory.mktemp("prometheus")) as running:
        yield running


@pytest.fixture(scope="module")
def victoria(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetricServer]:
    with metricservers.victoria_metrics(tmp_path_factory.mktemp("victoria")) as running:
        yield running


def stored(store: Store, run_id: str, key: str) -> Pairs:
    """Take a series out of the store as it should arrive: gauges as they are, counters added up."""
    run = store.run(run_id)
    assert run is not None
    one = store.series(run_id, {key}, counters={key})[0]
    is_counter = run.definitions[key].kind is Kind.COUNTER
    values = [round(total, 6) for total in accumulate(one.values)] if is_counter else list(one.values)
    return [(round(moment * 1000), value) for moment, value in zip(one.times, values, strict=True)]


NAMES = {
    "proc_rss_total": "jobmeter_proc_sum_rss_bytes",
    "cgroup_cputime": "jobmeter_cgroup_cputime_seconds_total",
    "wait_minflt": "jobmeter_wait_minflt_total",
    "host_mem_available": "jobmeter_host_mem_available_bytes",
    "cgroup_pids": "jobmeter_cgroup_pids",
}


def write_past_hour(home: Path, now: float) -> list[str]:
    """Write runs whose oldest samples are not quite an hour old."""
    ids = []
    for number, ago in enumerate((HOUR - 40, HOUR / 2, 300.0)):
        run_id = outlets.run_id_at(now - ago, f"00000{number}")
        folders.write_run(home, run_id=run_id, seconds=120, started=now - ago, seed=number)
        ids.append(run_id)
    return ids


def send_all(url: str, reading: object, place: Path) -> Pump:
    outlet = RemoteWrite(RemoteWriteSettings(url=url))
    pump = Pump(outlet, Positions(place), reading, max_age_seconds=HOUR)  # type: ignore[arg-type]
    assert pump.turn() is None
    pump.close()
    return pump


def only(found: dict[metricservers.Labels, Pairs]) -> Pairs:
    (series,) = found.values()
    return series


def without_zero(series: Pairs, key: str) -> Pairs:
    """Leave out the 0 that a counter begins with."""
    return series[1:] if key in ("cgroup_cputime", "wait_minflt") else series


def test_prometheus_takes_every_sample_of_the_last_hour_and_gives_the_stores_values(
    prometheus: MetricServer, tmp_path: Path
) -> None:
    now = time.time()
    # its newest sample decides what is too old: here it is of now, as in one that scrapes
    run_ids = [*write_past_hour(tmp_path / "home", now), outlets.run_id_at(now - 5, "000009")]
    folders.write_run(tmp_path / "home", run_id=run_ids[-1], seconds=5, started=now - 5)
    with outlets.indexed(tmp_path / "home") as (opened, reading):
        pump = send_all(prometheus.write_url, reading, tmp_path / "positions.json")
        assert pump.counts.dropped == {}
        assert pump.counts.sent > 30 * 365
        store = opened.ask(lambda store: store)
        for run_id in run_ids:
            for key, name in NAMES.items():
                series = only(prometheus.points(f'{name}{{run_id="{run_id}"}}', now + 1))
                assert without_zero(series, key) == stored(store, run_id, key), (run_id, key)


def test_victoria_metrics_takes_every_sample_of_the_last_hour_and_gives_the_stores_values(
    victoria: MetricServer, tmp_path: Path
) -> None:
    run_ids = write_past_hour(tmp_path / "home", time.time())
    with outlets.indexed(tmp_path / "home") as (opened, reading):
        pump = send_all(victoria.write_url, reading, tmp_path / "positions.json")
        assert pump.counts.dropped == {}
        store = opened.ask(lambda store: store)
        for run_id in run_ids:
            for key, name in NAMES.items():
                series = only(victoria.exported(f'{name}{{run_id="{run_id}"}}'))
                real = [pair for pair in series if pair[1] == pair[1]]
                assert without_zero(real, key) == stored(store, run_id, key), (run_id, key)
    assert victoria.metric("vm_rows_ignored_total") == 0


def test_a_batch_that_was_taken_before_the_server_was_killed_is_known_again(
    prometheus: MetricServer, tmp_path: Path
) -> None:
    run_id = outlets.run_id_at(time.time() - 200, "00000a")
    folders.write_run(tmp_path / "home", run_id=run_id, seconds=100, started=time.time() - 200)
    place = tmp_path / "positions.json"
    with outlets.indexed(tmp_path / "home") as (opened, reading):
        send_all(prometheus.write_url, reading, place)
        done = Positions(place)
        # as if it had been killed after Prometheus took the batch and before that was noted
        pending = done.marks
        done.marks = {}
        done.begin(pending)
        again = send_all(prometheus.write_url, reading, place)
        series = only(prometheus.points(f'jobmeter_proc_sum_rss_bytes{{run_id="{run_id}"}}', time.time()))
        assert series == stored(opened.ask(lambda store: store), run_id, "proc_rss_total")
    assert again.counts.dropped == {}
    assert Positions(place).pending == {}


def test_one_bad_series_costs_no_other_its_samples(prometheus: MetricServer, tmp_path: Path) -> None:
    now = time.time()
    run_id = outlets.run_id_at(now - 100, "00000b")
    folders.write_run(tmp_path / "home", run_id=run_id, seconds=50, started=now - 100)
    with outlets.indexed(tmp_path / "home") as (opened, reading):
        store = opened.ask(lambda store: store)
        run = store.run(run_id)
        assert run is not None
        family = metric_names.family_of(run.definitions["cgroup_pids"])
        assert family is not None
        # somebody wrote to this series already, and later than all of ours
        later = Points(family, metric_names.labels_of_run(run), [round(now * 1000)], [1.0])
        sender = RemoteWrite(RemoteWriteSettings(url=prometheus.write_url))
        assert sender.send([Slice(run=run, until=Mark(), points=[later])], again=False) == Outcome(taken=True)
        pump = send_all(prometheus.write_url, reading, tmp_path / "positions.json")
        series = only(prometheus.points(f'jobmeter_proc_sum_rss_bytes{{run_id="{run_id}"}}', now))
        assert series == stored(store, run_id, "proc_rss_total")
    sender.close()
    assert pump.counts.dropped == {"refused": 51}  # its 50 samples, and the mark that it is over
    assert pump.counts.trouble is not None
    assert "out of order" in pump.counts.trouble


def test_a_wrong_address_loses_nothing(
    victoria: MetricServer, prometheus: MetricServer, tmp_path: Path
) -> None:
    run_id = outlets.run_id_at(time.time() - 60, "00000c")
    folders.write_run(tmp_path / "home", run_id=run_id, seconds=5, started=time.time() - 60)
    nobody = f"http://127.0.0.1:{metricservers.free_port()}/api/v1/write"
    wrong = {
        nobody: "ConnectError",
        victoria.url + "/nothing/here": "400 ",
        prometheus.url + "/nothing": "40",
    }
    with outlets.indexed(tmp_path / "home") as (_, reading):
        for number, (url, told) in enumerate(wrong.items()):
            outlet = RemoteWrite(RemoteWriteSettings(url=url))
            pump = Pump(outlet, Positions(tmp_path / f"{number}.json"), reading, max_age_seconds=HOUR)
            assert pump.turn() is not None
            pump.close()
            assert (pump.counts.trouble or "").startswith(told)
            assert (pump.counts.sent, pump.counts.dropped) == (0, {})


def scrape_config(served: server.Served, **more: object) -> dict[str, object]:
    address = served.url.removeprefix("http://")
    return {
        "job_name": "jobmeter",
        "static_configs": [{"targets": [address]}],
        "authorization": {"credentials": served.token},
        **more,
    }


def test_a_server_is_scraped_with_its_token_and_writes_by_itself(
    victoria: MetricServer, tmp_path: Path
) -> None:
    home, config = tmp_path / "home", tmp_path / "config" / "jobmeter"
    config.mkdir(parents=True)
    secret = tmp_path / "secret"
    secret.write_text("any token will do\n")
    (config / "config.toml").write_text(
        f'[remote_write]\nurl = "{victoria.write_url}"\ninterval = "500ms"\nbearer_token_file = "{secret}"\n'
        'labels = { cluster = "blue" }\n'
    )
    run_id = outlets.run_id_at(time.time() - 30, "00000d")
    folder = folders.write_run(
        home, run_id=run_id, seconds=30, started=time.time() - 31, ended=False, start=outlets.this_recorder()
    )
    folders.append(
        folder / "steps.jsonl",
        {
            "timestamp": folders.iso(time.time()),
            "step": 7,
            "rank": 0,
            "source": "sdk",
            "metrics": {"loss": 0.25},
        },
    )
    with server.serving(home, env={"XDG_CONFIG_HOME": str(tmp_path / "config")}) as served:
        with metricservers.prometheus(tmp_path / "scraping", [scrape_config(served)]) as scraping:
            selector = f'{{run_id="{run_id}"}}'
            metricservers.wait_until(lambda: scraping.query(f"jobmeter_step{selector}"))
            assert list(scraping.query('up{job="jobmeter"}').values()) == [1.0]
            with index.open_index(home, path=tmp_path / "own.db") as opened:
                opened.refresh()
                store = opened.ask(lambda store: store)
                for key, name in NAMES.items():
                    (value,) = scraping.query(f"{name}{selector}").values()
                    assert value == stored(store, run_id, key)[-1][1], key
            assert list(
                scraping.query(f'jobmeter_step_value{{metric="loss",run_id="{run_id}"}}').values()
            ) == [0.25]
            (labels,) = scraping.query(f"jobmeter_proc_sum_rss_bytes{selector}")
            assert dict(labels)["host"] == os.uname().nodename
        mine = f'jobmeter_step_value{{run_id="{run_id}",cluster="blue"}}'
        metricservers.wait_until(lambda: victoria.exported(mine))
        assert [value for _, value in only(victoria.exported(mine))] == [0.25]
        page = served.client.get("/metrics").text
        assert 'jobmeter_outlet_samples_total{outlet="remote_write"}' in page
        assert "jobmeter_outlet_dropped_samples_total" not in page


def test_a_stranger_is_not_scraped_unless_the_page_was_opened(tmp_path: Path) -> None:
    with server.serving(tmp_path / "home") as served, served.stranger() as stranger:
        assert stranger.get("/metrics").status_code == 401
    with server.serving(tmp_path / "home", "--metrics-open") as served, served.stranger() as stranger:
        answer = stranger.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        assert answer.text.endswith("# EOF\n")
        assert stranger.get("/api/v1/runs").status_code == 401
