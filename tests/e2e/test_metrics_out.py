"""Metrics where teams have theirs: a real Prometheus scrapes and is written to, so is a real VictoriaMetrics."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import pytest

from jobmeter.delivery.positions import Positions
from jobmeter.delivery.pump import Outcome, Pump
from jobmeter.delivery.remotewrite import RemoteWrite, RemoteWriteSettings
from jobmeter.delivery.samples import Mark, Points, Slice
from jobmeter.exporters import metric_names, prometheus_rules
from jobmeter.model.measurement import GPU_TOOLS, Kind
from jobmeter.service import index
from jobmeter.stores import Store
from support import commands, folders, metricservers, outlets, server
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


def stored_values(values: Sequence[float], *, is_counter: bool) -> list[float]:
    return [round(total, 6) for total in accumulate(values)] if is_counter else list(values)


def stored(store: Store, run_id: str, key: str) -> Pairs:
    """Take a series out of the store as it should arrive: gauges as they are, counters added up."""
    run = store.run(run_id)
    assert run is not None
    one = store.series(run_id, {key}, counters={key})[0]
    values = stored_values(one.values, is_counter=run.definitions[key].kind is Kind.COUNTER)
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


def test_a_batch_of_which_a_part_was_taken_before_the_server_was_killed_arrives_whole(
    prometheus: MetricServer, tmp_path: Path
) -> None:
    run_id = outlets.run_id_at(time.time() - 200, "00000c")
    folders.write_run(tmp_path / "home", run_id=run_id, seconds=100, started=time.time() - 200)
    place = tmp_path / "positions.json"
    keeping = outlets.Keeping()
    with outlets.indexed(tmp_path / "home") as (opened, reading):
        pump = Pump(keeping, Positions(tmp_path / "other.json"), reading, max_age_seconds=HOUR)
        assert pump.turn() is None
        (batch,) = keeping.batches
        sender = RemoteWrite(RemoteWriteSettings(url=prometheus.write_url))
        half = dataclasses.replace(batch[0], points=batch[0].points[:10], over=())
        assert sender.send([half], again=False) == Outcome(taken=True)
        sender.close()
        Positions(place).begin({run_id: batch[0].until})
        again = send_all(prometheus.write_url, reading, place)
        store = opened.ask(lambda store: store)
        for key, name in NAMES.items():
            series = only(prometheus.points(f'{name}{{run_id="{run_id}"}}', time.time()))
            assert without_zero(series, key) == stored(store, run_id, key), key
    assert again.counts.dropped == {}


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


@dataclass(frozen=True, slots=True)
class Scraped:
    """A server of ours, a Prometheus that scrapes it, and what it writes to by itself."""

    served: server.Served
    prometheus: MetricServer
    receiver: MetricServer
    run_id: str


@pytest.fixture(scope="module")
def scraped(victoria: MetricServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    folder = tmp_path_factory.mktemp("scraped")
    (folder / "config" / "jobmeter").mkdir(parents=True)
    (folder / "secret").write_text("any token will do\n")
    (folder / "config" / "jobmeter" / "config.toml").write_text(
        f'[remote_write]\nurl = "{victoria.write_url}"\ninterval = "500ms"\n'
        f'bearer_token_file = "{folder}/secret"\nlabels = {{ cluster = "blue" }}\n'
    )
    run_id = write_everything(folder / "home", time.time() - 31)
    rules = folder / "rules.yml"
    rules.write_text(commands.jobmeter(folder / "home", "grafana", "--alert-rules").text)
    with server.serving(folder / "home", env={"XDG_CONFIG_HOME": str(folder / "config")}) as served:
        target = {
            "job_name": "jobmeter",
            "static_configs": [{"targets": [served.url.removeprefix("http://")]}],
            "authorization": {"credentials": served.token},
        }
        with metricservers.prometheus(folder / "scraping", [target], rules) as running:
            two_scrapes = 'count_over_time(jobmeter_step{rank="1"}[1m]) >= 3'
            metricservers.wait_until(lambda: running.query(two_scrapes))
            yield Scraped(served, running, victoria, run_id)


def asked(scraped: Scraped, expression: str) -> dict[metricservers.Labels, float]:
    """Ask Prometheus; a scrape that took too long leaves nothing until the next one."""
    return metricservers.wait_until(lambda: scraped.prometheus.query(expression), what=expression)


def write_everything(home: Path, started: float) -> str:
    """Write a training of two ranks that is measured by all there is, and one that failed a moment ago."""
    failed = {"status": "failed", "exit_code": 1}
    folders.write_run(
        home, run_id=outlets.run_id_at(started, "00000e"), seconds=5, started=started, end=failed
    )
    run_id = outlets.run_id_at(started, "00000d")
    folder = folders.folder_of(home, run_id)
    folder.mkdir(parents=True)
    known = [one.as_record() for one in outlets.definitions()]
    folders.append(
        folder / "run.jsonl",
        folders.start_record(run_id, started=started, **outlets.this_recorder()),
        folders.context_record(measurements=known),
    )
    folders.append(folder / "usage.jsonl", *outlets.everything(30, started))
    for rank in (0, 1):
        step = {"step": 7 + rank, "rank": rank, "source": "sdk", "metrics": {"loss": 0.25, "train/acc": 0.5}}
        folders.append(folder / f"steps.{rank}.jsonl", {"timestamp": folders.iso(started + 30), **step})
    return run_id


def test_what_is_scraped_is_what_the_store_holds(scraped: Scraped, tmp_path: Path) -> None:
    assert list(asked(scraped, 'up{job="jobmeter"} == 1').values()) == [1.0]
    found = {
        (dict(labels)["__name__"], dict(labels).get("gpu") or dict(labels).get("device")): value
        for labels, value in asked(scraped, f'{{run_id="{scraped.run_id}"}}').items()
    }
    with index.open_index(scraped.served.home, path=tmp_path / "own.db") as opened:
        opened.refresh()
        store = opened.ask(lambda store: store)
        run = store.run(scraped.run_id)
        assert run is not None
        known = store.statistics(scraped.run_id)
    numbers = dict(zip(outlets.GPUS, "01", strict=True))
    compared = 0
    for (key, instance), one in known.items():
        definition = run.definitions[key]
        if definition.kind is Kind.LABEL:
            continue
        family = metric_names.family_of(definition)
        assert family is not None
        device = numbers.get(instance) if definition.tool in GPU_TOOLS else instance or None
        expected = one.total if definition.kind is Kind.COUNTER else one.last
        assert found[family.sample_name, device] == pytest.approx(expected, abs=1e-6), key
        compared += 1
    assert compared > 150
    assert found["jobmeter_nvml_device_info", "1"] == 1
    assert found["jobmeter_nvml_devices", None] == known["nvml_count", ""].last


def test_a_training_is_scraped_by_rank_and_metric(scraped: Scraped) -> None:
    found = asked(scraped, f'jobmeter_step_value{{run_id="{scraped.run_id}"}}')
    named = {(dict(labels)["metric"], dict(labels)["rank"]): value for labels, value in found.items()}
    assert named == {
        ("loss", "0"): 0.25,
        ("loss", "1"): 0.25,
        ("train/acc", "0"): 0.5,
        ("train/acc", "1"): 0.5,
    }
    (labels,) = asked(scraped, f'jobmeter_cgroup_pids{{run_id="{scraped.run_id}"}}')
    assert dict(labels)["host"] == os.uname().nodename
    assert dict(labels)["project"] == "app"


def test_a_server_writes_by_itself_and_says_how_that_goes(scraped: Scraped) -> None:
    mine = f'jobmeter_step_value{{run_id="{scraped.run_id}",cluster="blue",metric="loss",rank="1"}}'
    metricservers.wait_until(lambda: scraped.receiver.exported(mine))
    assert [value for _, value in only(scraped.receiver.exported(mine))] == [0.25]
    temperature = f'jobmeter_nvml_temp_celsius{{run_id="{scraped.run_id}",gpu="1"}}'
    assert len(only(scraped.receiver.exported(temperature))) == 30
    page = scraped.served.client.get("/metrics").text
    assert 'jobmeter_outlet_dropped_samples_total{outlet="remote_write",reason="refused"} 0.0' in page
    sent = [line for line in page.splitlines() if line.startswith("jobmeter_outlet_samples_total{")]
    assert float(sent[0].rsplit(" ", 1)[1]) > 150 * 30


def test_a_run_that_is_recorded_meanwhile_arrives_whole(scraped: Scraped, tmp_path: Path) -> None:
    busy = "import time; t = time.time() + 1.5\nwhile time.time() < t: bytearray(1 << 20)"
    done = commands.jobmeter(
        scraped.served.home, "run", "-q", "--sample-interval", "0.1", "--", sys.executable, "-c", busy
    )
    assert done.code == 0
    with index.open_index(scraped.served.home, path=tmp_path / "own.db") as opened:
        opened.refresh()
        store = opened.ask(lambda store: store)
        run = store.run(store.briefs(limit=1)[0].run_id)
        assert run is not None
        mine = f'run_id="{run.run_id}"'
        metricservers.wait_until(lambda: scraped.receiver.exported(f"jobmeter_run_exit_code{{{mine}}}"))
        arrived = scraped.receiver.exported(f"{{{mine}}}")
        named = {
            (dict(labels)["__name__"], dict(labels).get("device")): points
            for labels, points in arrived.items()
        }
        compared = 0
        for one in store.series(run.run_id):
            definition = run.definitions.get(one.key)
            family = None if definition is None else metric_names.family_of(definition)
            if definition is None or family is None or definition.kind is Kind.LABEL:
                continue
            real = [pair for pair in named[family.sample_name, one.instance or None] if pair[1] == pair[1]]
            expected = stored_values(one.values, is_counter=definition.kind is Kind.COUNTER)
            # it keeps 15 digits or so
            assert [value for _, value in real][-len(expected) :] == pytest.approx(expected, rel=1e-12), (
                one.key
            )
            assert [moment for moment, _ in real][-len(expected) :] == [round(t * 1000) for t in one.times]
            compared += len(expected)
    assert compared > 200


def test_every_picture_of_the_dashboard_has_something_to_show(scraped: Scraped, tmp_path: Path) -> None:
    dashboard = json.loads(commands.jobmeter(tmp_path, "grafana").text)
    asked = 0
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"].replace("$__rate_interval", "1m")
            for name in ("$project", "$host", "$run"):
                expression = expression.replace(name, ".*")
            assert "$" not in expression
            # a scrape that came late makes what it should have brought stale until the next one
            title = (panel["title"], target["expr"])
            metricservers.wait_until(lambda ask=expression: scraped.prometheus.query(ask), what=title)
            asked += 1
    assert asked > 25


def test_every_alert_rule_is_evaluated_by_prometheus(scraped: Scraped) -> None:
    def rules() -> list[dict[str, object]]:
        groups = json.loads(scraped.prometheus.get("/api/v1/rules"))["data"]["groups"]
        found: list[dict[str, object]] = groups[0]["rules"]
        return found

    metricservers.wait_until(lambda: all(rule["health"] != "unknown" for rule in rules()))
    assert {str(rule["name"]): rule.get("lastError", "") for rule in rules()} == {
        rule.name: "" for rule in prometheus_rules.ALL
    }
    state = {str(rule["name"]): rule["state"] for rule in rules()}
    metricservers.wait_until(
        lambda: next(r for r in rules() if r["name"] == "JobmeterRunEndedBadly")["state"] == "firing"
    )
    assert state["JobmeterLossIsNotANumber"] == "inactive"


def test_promtool_finds_nothing_wrong_with_the_rules(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text(commands.jobmeter(tmp_path, "grafana", "--alert-rules").text)
    checked = subprocess.run(
        [metricservers.program("promtool"), "check", "rules", "--lint-fatal", str(rules)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
    assert f"{len(prometheus_rules.ALL)} rules found" in checked.stdout


def test_promtool_finds_nothing_wrong_with_the_page(scraped: Scraped) -> None:
    page = scraped.served.client.get("/metrics").content
    checked = subprocess.run(
        [metricservers.program("promtool"), "check", "metrics"], input=page, capture_output=True, check=False
    )
    assert checked.stderr.decode() == ""
    assert checked.returncode == 0


def test_a_stranger_sees_the_page_only_where_it_was_opened(scraped: Scraped, tmp_path: Path) -> None:
    with scraped.served.stranger() as stranger:
        assert stranger.get("/metrics").status_code == 401
    with server.serving(tmp_path / "home", "--metrics-open") as served, served.stranger() as stranger:
        assert stranger.get("/metrics").status_code == 200
        assert stranger.get("/api/v1/runs").status_code == 401


def test_openmetrics_is_given_to_those_who_accept_it(scraped: Scraped) -> None:
    accept = "application/openmetrics-text; version=1.0.0, text/plain; q=0.5"
    answer = scraped.served.client.get("/metrics", headers={"accept": accept})
    assert answer.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert answer.text.endswith("# EOF\n")
    plain = scraped.served.client.get("/metrics", headers={"accept": "*/*"})
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
