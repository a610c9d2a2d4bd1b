"""A Grafana dashboard of our metrics as the JSON that Grafana imports; it asks for the data source when imported."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobmeter.exporters import promql

Json = dict[str, object]

TITLE = "jobmeter runs"
_SOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
CHOSEN = '{project=~"$project", host=~"$host", run_id=~"$run"}'
"""What is chosen at the top of the page."""
WINDOW = "$__rate_interval"
_RUN = "{{run_id}}"
_GPU = "{{run_id}} GPU {{gpu}}"
_WIDTH = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One picture: its queries with what names their lines."""

    title: str
    queries: Sequence[tuple[str, str]]
    about: str
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    height: int = 8
    is_signed: bool = False
    """May be below 0, where the axis of all others begins."""


RUNS = (
    Panel(
        title="Alive",
        kind="stat",
        width=4,
        height=5,
        queries=[("sum(jobmeter_runs)", "")],
        about="Runs that have not ended.",
    ),
    Panel(
        title="Ended badly in the last hour",
        kind="stat",
        width=4,
        height=5,
        queries=[
            (promql.ended_badly('project=~"$project", host=~"$host"', "1h"), ""),
        ],
        about="Runs that failed, were killed, or whose recorder vanished.",
    ),
    Panel(
        title="Runs",
        kind="table",
        width=16,
        height=10,
        queries=[
            (promql.states(CHOSEN), ""),
        ],
        about="Runs that are alive or ended a moment ago.",
    ),
    Panel(
        title="CPU time so far",
        unit="s",
        kind="bargauge",
        width=8,
        height=5,
        queries=[(f"topk(10, jobmeter_run_cpu_seconds{CHOSEN})", _RUN)],
        about="The number of record, as `jobmeter show` tells it.",
    ),
)
PROCESSOR = (
    Panel(
        title="Cores busy",
        queries=[
            (promql.cores(CHOSEN, WINDOW), _RUN),
            (f"jobmeter_run_cpu_limit_cores{CHOSEN}", f"limit {_RUN}"),
        ],
        about="Own cgroup, else the telescoping sum, else the enclosing cgroup, else sampled processes.",
    ),
    Panel(
        title="Memory needed",
        unit="bytes",
        queries=[
            (promql.memory(CHOSEN), _RUN),
            (f"jobmeter_run_memory_limit_bytes{CHOSEN}", f"limit {_RUN}"),
        ],
        about="What only the job can give back; page cache is not in it where a cgroup tells.",
    ),
    Panel(
        title="Memory peak, share of the limit",
        unit="percentunit",
        queries=[(f"jobmeter_run_memory_peak_bytes{CHOSEN} / jobmeter_run_memory_limit_bytes{CHOSEN}", _RUN)],
        about="At 1 the kernel kills the job.",
    ),
    Panel(
        title="Read and written",
        unit="Bps",
        queries=[
            (promql.read(CHOSEN, WINDOW), f"read {_RUN}"),
            (promql.written(CHOSEN, WINDOW), f"written {_RUN}"),
        ],
        about="Of block devices.",
    ),
    Panel(
        title="Waiting for CPU, memory, IO",
        unit="percentunit",
        queries=[
            (promql.waiting(what, CHOSEN, WINDOW), f"{word} {_RUN}")
            for what, word in (("cpu", "CPU"), ("mem", "memory"), ("io", "IO"))
        ],
        about="Share of time in which a task of the job, or of its host, stood still for want of it.",
    ),
    Panel(
        title="CPU withheld by the quota",
        queries=[(f"rate(jobmeter_cgroup_throttled_seconds_total{CHOSEN}[{WINDOW}])", _RUN)],
        about="Cores that the job wanted and was not given.",
    ),
)
GPUS = (
    Panel(
        title="GPU utilisation",
        unit="percent",
        queries=[(promql.gpus("util_percent", CHOSEN), _GPU)],
        about="Share of time in which a kernel ran, whoever's.",
    ),
    Panel(
        title="GPU memory",
        unit="bytes",
        queries=[(promql.gpus("mem_used_bytes", CHOSEN), _GPU)],
        about="In use on the device, by everyone.",
    ),
    Panel(
        title="GPU power",
        unit="watt",
        queries=[(promql.gpus("power_watts", CHOSEN), _GPU)],
        about="Drawn by the device.",
    ),
    Panel(
        title="GPU temperature",
        unit="celsius",
        queries=[(promql.gpus("temp_celsius", CHOSEN), _GPU)],
        about="Of the chip.",
    ),
    Panel(
        title="GPU slowed down",
        queries=[(f'jobmeter_nvml_throttle{{state!="none", {CHOSEN.strip("{}")}}}', f"{_GPU} {{{{state}}}}")],
        about="Samples of the last report in which the driver named a reason to slow down.",
    ),
    Panel(
        title="Energy so far",
        unit="joule",
        queries=[(f"jobmeter_run_energy_joules{CHOSEN}", _RUN)],
        about="Of GPUs and, where readable, the job's share of the processors.",
    ),
)
TRAINING = (
    Panel(
        title="Loss",
        queries=[(promql.loss(CHOSEN), "{{run_id}} {{metric}} rank {{rank}}")],
        about="Every metric whose last word is loss.",
        is_signed=True,
    ),
    Panel(
        title="Steps a second",
        queries=[(f"rate(jobmeter_step_rows_total{CHOSEN}[{WINDOW}])", "{{run_id}} rank {{rank}}")],
        about="As told by the loop or read in its log.",
    ),
    Panel(
        title="Steps behind the first rank",
        queries=[
            (
                f"max by (job_id) (jobmeter_step{CHOSEN}) - on (job_id) group_right () jobmeter_step{CHOSEN}",
                "{{job_id}} rank {{rank}}",
            )
        ],
        about="A rank that falls behind holds up all others.",
    ),
)
EXPORT = (
    Panel(
        title="Series on the page",
        queries=[("jobmeter_export_series", "shown"), ("jobmeter_export_series_left_out", "left out")],
        about="Of /metrics of the jobmeter server; a page has room for 50,000.",
        width=12,
    ),
    Panel(
        title="Samples sent and given up",
        queries=[
            (f"rate(jobmeter_outlet_samples_total[{WINDOW}])", "{{outlet}}"),
            (f"rate(jobmeter_outlet_dropped_samples_total[{WINDOW}])", "{{outlet}} dropped: {{reason}}"),
        ],
        about="By remote write or OTLP, where the server does that.",
        width=12,
    ),
)
ROWS: dict[str, Sequence[Panel]] = {
    "Runs": RUNS,
    "CPU, memory, IO": PROCESSOR,
    "GPUs": GPUS,
    "Training": TRAINING,
    "Server": EXPORT,
}


def dashboard() -> Json:
    """Build the dashboard."""
    return {
        "title": TITLE,
        "uid": "jobmeter-runs",
        "description": "What jobs really use, by jobmeter.",
        "tags": ["jobmeter"],
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "schemaVersion": 38,
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": _panels(),
    }


def _variables() -> list[Json]:
    source: Json = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    narrowing = {
        "project": "label_values(jobmeter_run_info, project)",
        "host": 'label_values(jobmeter_run_info{project=~"$project"}, host)',
        "run": 'label_values(jobmeter_run_info{project=~"$project", host=~"$host"}, run_id)',
    }
    return [source, *(_variable(name, query) for name, query in narrowing.items())]


def _variable(name: str, query: str) -> Json:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        # also runs without a project
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
        "sort": 2 if name == "run" else 1,
    }


def _panels() -> list[Json]:
    made: list[Json] = []
    top = 0
    for title, panels in ROWS.items():
        made.append(
            {
                "id": len(made) + 1,
                "type": "row",
                "title": title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": top, "w": _WIDTH, "h": 1},
                "panels": [],
            }
        )
        top += 1
        left = highest = 0
        for panel in panels:
            if left + panel.width > _WIDTH:
                top, left, highest = top + highest, 0, 0
            place = {"x": left, "y": top, "w": panel.width, "h": panel.height}
            made.append(_panel(panel, len(made) + 1, place))
            left, highest = left + panel.width, max(highest, panel.height)
        top += highest
    return made


def _panel(panel: Panel, number: int, place: dict[str, int]) -> Json:
    is_table = panel.kind == "table"
    floor = {} if panel.is_signed else {"min": 0}
    targets: list[Json] = [
        {
            "refId": chr(ord("A") + at),
            "datasource": _SOURCE,
            "expr": expression,
            "legendFormat": legend or "__auto",
            "instant": is_table,
            "range": not is_table,
            "format": "table" if is_table else "time_series",
        }
        for at, (expression, legend) in enumerate(panel.queries)
    ]
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit} | floor, "overrides": []},
        "targets": targets,
    }
