"""What handing metrics on costs a server, and whether killing it loses or doubles any.

    python bench/metrics.py [--runs 100] [--kills 12] [--only cost|kills]

`cost`: CPU of one scrape and of one turn of remote write, per live run, to a real VictoriaMetrics. `kills`: a server is
killed (SIGKILL) again and again while a job is recorded 20 times a second and written to a real Prometheus every
50 ms; then every point of the store is looked for there. Needs scripts/metric-servers.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from jobmeter.delivery.positions import Positions  # noqa: E402
from jobmeter.delivery.pump import Pump  # noqa: E402
from jobmeter.delivery.remotewrite import RemoteWrite, RemoteWriteSettings  # noqa: E402
from jobmeter.exporters import metric_names  # noqa: E402
from jobmeter.model.measurement import Kind  # noqa: E402
from jobmeter.service import index, scraping  # noqa: E402
from jobmeter.stores import Store  # noqa: E402
from support import commands, folders, metricservers, outlets, server  # noqa: E402  # they live with the tests

SECONDS, TURN_SECONDS, TURNS = 300, 15, 4


def cost(folder: Path, runs: int) -> None:
    """Measure scrapes and turns over runs that go on."""
    started = time.time() - SECONDS - TURN_SECONDS * TURNS
    lines = list(folders.usage(SECONDS + TURN_SECONDS * TURNS, processes=0, started=started))
    places = _written(folder / "home", runs, started)
    with (
        outlets.indexed(folder / "home") as (opened, _),
        metricservers.victoria_metrics(folder / "victoria") as victoria,
    ):
        store = opened.ask(lambda store: store)

        @contextmanager
        def reading() -> Iterator[Store]:
            yield store

        scraper = scraping.Scraper(reading)
        outlet = RemoteWrite(RemoteWriteSettings(url=victoria.write_url))
        pump = Pump(outlet, Positions(folder / "positions.json"), reading, max_age_seconds=3600)
        begun = time.process_time()
        pump.turn()
        spent = time.process_time() - begun
        print(
            f"remote write, backlog:  {pump.counts.sent / spent:,.0f} samples a CPU-second ({pump.counts.sent:,})"
        )
        scraper.render(openmetrics=False)
        scrapes, turns = [], []
        for turn in range(TURNS):
            first = SECONDS + turn * TURN_SECONDS
            for place in places.values():
                folders.append(place / "usage.jsonl", *lines[first : first + TURN_SECONDS])
            opened.refresh()
            pump.note(places)
            before = pump.counts.sent
            begun = time.process_time()
            pump.turn()
            turns.append(time.process_time() - begun)
            begun = time.process_time()
            scraper.render(openmetrics=False)
            scrapes.append(time.process_time() - begun)
        print(f"remote write, {TURN_SECONDS} s new: {min(turns) / runs * 1000:.2f} ms of CPU a run, "
              f"{(pump.counts.sent - before) / min(turns):,.0f} samples a CPU-second")  # fmt: skip
        print(f"scrape:                 {min(scrapes) / runs * 1000:.2f} ms of CPU a run")
        print(f"dropped:                {pump.counts.dropped or 0}")
        pump.close()


def _written(home: Path, runs: int, started: float) -> dict[str, Path]:
    ids = [outlets.run_id_at(started, f"{number:06x}") for number in range(runs)]
    me = outlets.this_recorder()
    return {
        run_id: folders.write_run(
            home, run_id=run_id, seconds=SECONDS, processes=0, started=started, ended=False, start=me
        )
        for run_id in ids
    }


def kills(folder: Path, wanted: int) -> None:
    """Kill a server that writes, and look for every point."""
    home, config = folder / "killed", folder / "config" / "jobmeter"
    config.mkdir(parents=True)
    env = {"XDG_CONFIG_HOME": str(config.parent)}
    with metricservers.prometheus(folder / "prometheus") as prometheus:
        (config / "config.toml").write_text(
            f'[remote_write]\nurl = "{prometheus.write_url}"\ninterval = "50ms"\n'
        )
        command = [*commands.COMMAND, "run", "-q", "--sample-interval", "0.05", "--", "sleep", "3600"]
        with subprocess.Popen(command, env=commands.environment(home)) as job:
            for _ in range(wanted):
                with server.serving(home, env=env) as served:
                    time.sleep(random.uniform(0.1, 1.2))  # noqa: S311  # the moment of a kill is no secret
                    served.stop(signal.SIGKILL)
            job.terminate()
        with server.serving(home, env=env), index.open_index(home, path=folder / "own.db") as opened:
            opened.refresh()
            opened.ask(lambda store: _compare(store, prometheus, wanted))


def _compare(store: Store, prometheus: metricservers.MetricServer, killed: int) -> None:
    (brief,) = store.briefs()
    run = store.run(brief.run_id)
    assert run is not None
    mine = f'{{run_id="{run.run_id}"}}'
    metricservers.wait_until(lambda: prometheus.query(f"jobmeter_run_end_time_seconds{mine}"), 120)
    counters = {key for key, one in run.definitions.items() if one.kind is Kind.COUNTER}
    looked_for = wrong = 0
    for one in store.series(run.run_id, counters=counters):
        definition = run.definitions.get(one.key)
        family = None if definition is None else metric_names.family_of(definition)
        if family is None or one.instance:
            continue
        (arrived,) = prometheus.points(f"{family.sample_name}{mine}", time.time()).values()
        values = [round(v, 6) for v in accumulate(one.values)] if one.key in counters else list(one.values)
        expected = [(round(t * 1000), value) for t, value in zip(one.times, values, strict=True)]
        looked_for += len(expected)
        # a counter begins with a 0 that no store holds
        wrong += arrived[-len(expected) :] != expected or len(arrived) > len(expected) + 1
    print(f"killed {killed} times: {looked_for:,} points of {run.run_id} looked for, {wrong} series differ")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--only", choices=("cost", "kills"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.only != "kills":
            cost(Path(folder), args.runs)
        if args.only != "cost":
            kills(Path(folder), args.kills)


if __name__ == "__main__":
    main()
