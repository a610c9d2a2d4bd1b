"""Alert rules over our metrics, as the file that Prometheus and VictoriaMetrics load."""

from dataclasses import dataclass

from jobmeter.exporters import promql

_LIVE = 'on (run_id) jobmeter_run_state{state="running"} == 1'


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One alert: what is wrong, for how long, and what it says."""

    name: str
    expression: str
    lasting: str
    severity: str
    summary: str
    what_to_do: str


ALL = (
    Rule(
        name="JobmeterRunEndedBadly",
        expression='jobmeter_run_state{state=~"failed|killed|lost"} == 1',
        lasting="0m",
        severity="warning",
        summary="run {{ $labels.run_id }} on {{ $labels.host }} is {{ $labels.state }}",
        what_to_do="jobmeter analyze {{ $labels.run_id }}",
    ),
    Rule(
        name="JobmeterMemoryNearLimit",
        expression=f"({promql.memory('')}) / on (run_id) group_left () jobmeter_run_memory_limit_bytes > 0.95",
        lasting="2m",
        severity="critical",
        summary="run {{ $labels.run_id }} uses {{ $value | humanizePercentage }} of its memory limit",
        what_to_do="it will be killed at 100 %: ask for more with the next one (jobmeter size {{ $labels.run_id }})",
    ),
    Rule(
        name="JobmeterOomKill",
        expression="increase(jobmeter_cgroup_oom_kill_total[10m]) > 0",
        lasting="0m",
        severity="critical",
        summary="the kernel killed a process of run {{ $labels.run_id }} for want of memory",
        what_to_do="jobmeter analyze {{ $labels.run_id }}",
    ),
    Rule(
        name="JobmeterCpuThrottled",
        expression="rate(jobmeter_cgroup_throttled_seconds_total[5m]) > 0.5",
        lasting="10m",
        severity="info",
        summary="run {{ $labels.run_id }} is kept from {{ $value | humanize }} cores by its CPU quota",
        what_to_do="jobmeter size {{ $labels.run_id }}",
    ),
    Rule(
        name="JobmeterGpuIdle",
        expression=f"(avg by (run_id, job_id, project, host) ({promql.gpus('util_percent', '')}) < 10) and {_LIVE}",
        lasting="15m",
        severity="warning",
        summary="the GPUs of run {{ $labels.run_id }} are {{ $value | humanize }} % busy",
        what_to_do="jobmeter analyze {{ $labels.run_id }} names what they wait for",
    ),
    Rule(
        name="JobmeterGpuHot",
        expression=f"({promql.gpus('temp_celsius', '')}) > 90",
        lasting="5m",
        severity="warning",
        summary="GPU {{ $labels.gpu }} of {{ $labels.host }} has {{ $value }} °C",
        what_to_do="it slows down soon: look at its fans and its neighbours",
    ),
    Rule(
        name="JobmeterLossIsNotANumber",
        # only what is not a number differs from itself
        expression=f"{promql.loss('')} != {promql.loss('')}",
        lasting="1m",
        severity="critical",
        summary="{{ $labels.metric }} of run {{ $labels.run_id }} is not a number",
        what_to_do="stop it, and start again from a checkpoint before that (jobmeter analyze {{ $labels.run_id }})",
    ),
    Rule(
        name="JobmeterTrainingStandsStill",
        expression=f"(time() - max by (run_id, job_id, project, host) (jobmeter_step_time_seconds) > 1800) and {_LIVE}",
        lasting="5m",
        severity="warning",
        summary="run {{ $labels.run_id }} made no step for {{ $value | humanizeDuration }}",
        what_to_do="jobmeter analyze {{ $labels.run_id }}",
    ),
    Rule(
        name="JobmeterRunNotMeasured",
        expression=f"(time() - jobmeter_run_last_sample_time_seconds > 300) and {_LIVE}",
        lasting="5m",
        severity="warning",
        summary="nothing was heard of run {{ $labels.run_id }} for {{ $value | humanizeDuration }}",
        what_to_do="look at its host {{ $labels.host }} and at the way from there",
    ),
    Rule(
        name="JobmeterSeriesLeftOut",
        expression="jobmeter_export_series_left_out > 0",
        lasting="15m",
        severity="info",
        summary="{{ $value }} series do not fit on the page of {{ $labels.instance }}",
        what_to_do="use remote write, which is bounded by run alone: 2,000 series of each",
    ),
    Rule(
        name="JobmeterSamplesGivenUp",
        expression="increase(jobmeter_outlet_dropped_samples_total[15m]) > 0",
        lasting="0m",
        severity="warning",
        summary="{{ $labels.outlet }} gave up {{ $value | humanize }} samples: {{ $labels.reason }}",
        what_to_do="the log of the jobmeter server says what the receiver answered",
    ),
)


def render() -> str:
    """Write the file."""
    lines = ["groups:", "  - name: jobmeter", "    rules:"]
    for rule in ALL:
        lines += [
            f"      - alert: {rule.name}",
            f"        expr: {_quoted(rule.expression)}",
            f"        for: {rule.lasting}",
            "        labels:",
            f"          severity: {rule.severity}",
            "        annotations:",
            f"          summary: {_quoted(rule.summary)}",
            f"          description: {_quoted(rule.what_to_do)}",
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Write a text in YAML's plain quotes, in which nothing but themselves is special."""
    return "'" + text.replace("'", "''") + "'"
