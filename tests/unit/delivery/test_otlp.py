"""Metrics and spans as a collector receives them, decoded by OpenTelemetry's own messages."""

import gzip
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status as SpanStatus

from jobmeter.delivery import otlp_spans
from jobmeter.delivery.otlp import Otlp, OtlpSettings
from jobmeter.delivery.positions import Positions
from jobmeter.delivery.pump import Pump
from support import folders, outlets

HOUR = 3600.0
NOW = float(int(time.time()))


@dataclass(slots=True)
class Collector:
    """A server that takes OTLP, and answers with what it is told to first."""

    url: str = ""
    answers: list[tuple[int, bytes]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    spans: list[Any] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def take(self, path: str, body: bytes) -> tuple[int, bytes]:
        self.asked.append(path)
        status, answer = self.answers.pop(0) if self.answers else (200, b"")
        if status != 200:
            return status, answer
        if path == "/v1/metrics":
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics += [metric for scope in resource.scope_metrics for metric in scope.metrics]
        else:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        return status, answer

    def count(self) -> int:
        """Count all points that came."""
        return sum(len(self.points(name)) for name in {metric.name for metric in self.metrics})

    def points(self, name: str) -> list[tuple[int, float]]:
        found = [metric for metric in self.metrics if metric.name == name]
        return [
            (point.time_unix_nano // 1_000_000, point.as_double)
            for metric in found
            for point in (metric.sum if metric.HasField("sum") else metric.gauge).data_points
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    known = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = gzip.decompress(self.rfile.read(int(self.headers["content-length"])))
            known.tokens.add(self.headers.get("authorization", ""))
            status, answer = known.take(self.path, body)
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        known.url = f"http://127.0.0.1:{server.server_port}"
        yield known
        server.shutdown()


def write_training(home: Path, *, failed: bool = False) -> str:
    run_id = outlets.run_id_at(NOW - 100)
    end: folders.Record = {"status": "failed", "exit_code": 3} if failed else {}
    started = NOW - 100
    folder = folders.write_run(
        home, run_id=run_id, seconds=60, started=started, end=end, start={"job_id": "job-7"}
    )
    folders.append(
        folder / "steps.jsonl",
        *(
            {
                "timestamp": folders.iso(started + n / 10),
                "step": n,
                "rank": 0,
                "source": "sdk",
                "metrics": {"loss": 1 / n},
            }
            for n in range(1, 501)
        ),
    )
    event = {"timestamp": folders.iso(started + 30), "type": "oom", "details": {"pid": 7, "why": ["a", "b"]}}
    folders.append(folder / "events.jsonl", event)
    return run_id


def send(collector: Collector, tmp_path: Path, **more: Any) -> Pump:
    outlet = Otlp(OtlpSettings(url=collector.url, headers={"authorization": "Bearer x"}, **more))
    with outlets.indexed(tmp_path / "home") as (_, reading):
        pump = Pump(
            outlet, Positions(tmp_path / "otlp.json"), reading, max_age_seconds=HOUR, clock=lambda: NOW
        )
        while pump.turn() is not None:
            assert len(collector.asked) < 20
    pump.close()
    return pump


def test_metrics_arrive_with_their_own_times_sums_as_sums(collector: Collector, tmp_path: Path) -> None:
    run_id = write_training(tmp_path / "home")
    pump = send(collector, tmp_path)
    with outlets.indexed(tmp_path / "home") as (opened, _):
        (rss,) = opened.ask(lambda store: store.series(run_id, {"proc_rss_total"}))
        (cpu,) = opened.ask(
            lambda store: store.series(run_id, {"cgroup_cputime"}, counters={"cgroup_cputime"})
        )
    expected = [(round(moment * 1000), value) for moment, value in zip(rss.times, rss.values, strict=True)]
    assert collector.points("jobmeter_proc_sum_rss_bytes") == expected
    assert collector.points("jobmeter_cgroup_cputime_seconds")[-1][1] == pytest.approx(
        sum(cpu.values), abs=1e-6
    )
    (metric,) = {m.name: m for m in collector.metrics if m.name == "jobmeter_cgroup_cputime_seconds"}.values()
    assert metric.sum.is_monotonic
    assert metric.sum.aggregation_temporality == 2  # cumulative
    labels = {one.key: one.value.string_value for one in metric.sum.data_points[0].attributes}
    assert labels == {"host": "node7", "job_id": "job-7", "project": "app", "run_id": run_id}
    assert collector.tokens == {"Bearer x"}
    assert pump.counts.dropped == {}


def test_a_run_is_a_span_in_the_trace_of_its_job(collector: Collector, tmp_path: Path) -> None:
    run_id = write_training(tmp_path / "home", failed=True)
    send(collector, tmp_path)
    (span,) = collector.spans
    assert int.from_bytes(span.trace_id) == otlp_spans.trace_id("job-7")
    assert int.from_bytes(span.span_id) == otlp_spans.span_id(run_id)
    assert span.name == "nightly"
    assert span.start_time_unix_nano == round((NOW - 100) * 1e9)
    assert span.end_time_unix_nano - span.start_time_unix_nano == 60_000_000_000
    assert span.status.code == SpanStatus.STATUS_CODE_ERROR
    assert span.status.message == "failed with exit code 3"
    known = {one.key: one.value for one in span.attributes}
    assert known["process.command_line"].string_value == "make -j4"
    assert known["process.exit.code"].int_value == 3
    assert known["jobmeter.steps_left_out"].int_value == 500 - 168


def test_events_and_steps_are_events_of_the_span(collector: Collector, tmp_path: Path) -> None:
    write_training(tmp_path / "home")
    send(collector, tmp_path, metrics=False)
    (span,) = collector.spans
    assert collector.metrics == []
    assert span.status.code == SpanStatus.STATUS_CODE_OK
    by_name: dict[str, list[Any]] = {}
    for event in span.events:
        by_name.setdefault(event.name, []).append({one.key: one.value for one in event.attributes})
    assert by_name["oom"][0]["pid"].int_value == 7
    assert by_name["oom"][0]["why"].string_value == '["a", "b"]'
    steps = by_name["step"]
    assert [steps[0]["step"].int_value, steps[-1]["step"].int_value] == [1, 500]
    assert steps[-1]["loss"].double_value == 1 / 500
    assert len(steps) == 168


def test_nothing_is_sent_twice_when_only_the_spans_were_not_taken(
    collector: Collector, tmp_path: Path
) -> None:
    write_training(tmp_path / "home")
    collector.answers = [(200, b""), (503, b"")]
    pump = send(collector, tmp_path)
    assert collector.asked == ["/v1/metrics", "/v1/traces", "/v1/traces"]
    assert pump.counts.retries == 1
    assert len(collector.spans) == 1


def test_what_a_collector_refuses_is_counted(collector: Collector, tmp_path: Path) -> None:
    write_training(tmp_path / "home")
    partly = ExportMetricsServiceResponse(
        partial_success=ExportMetricsPartialSuccess(rejected_data_points=5, error_message="too many labels")
    )
    collector.answers = [(200, partly.SerializeToString())]
    pump = send(collector, tmp_path)
    assert pump.counts.dropped == {"refused": 5}
    assert pump.counts.trouble == "too many labels"


def test_what_was_refused_still_counts_when_the_spans_are_sent_again(
    collector: Collector, tmp_path: Path
) -> None:
    write_training(tmp_path / "home")
    partly = ExportMetricsServiceResponse(
        partial_success=ExportMetricsPartialSuccess(rejected_data_points=5, error_message="too many labels")
    )
    collector.answers = [(200, partly.SerializeToString()), (503, b"")]
    pump = send(collector, tmp_path)
    assert pump.counts.dropped == {"refused": 5}
    assert pump.counts.sent == collector.count() - 5


def test_only_points_that_were_sent_are_counted_as_sent(collector: Collector, tmp_path: Path) -> None:
    write_training(tmp_path / "home")
    assert send(collector, tmp_path).counts.sent == collector.count() > 30 * 60
    (tmp_path / "otlp.json").unlink()
    assert send(collector, tmp_path, metrics=False).counts.sent == 0


def test_a_batch_that_is_malformed_to_the_collector_is_given_up(collector: Collector, tmp_path: Path) -> None:
    write_training(tmp_path / "home")
    collector.answers = [(400, b"")]
    pump = send(collector, tmp_path, spans=False)
    assert collector.asked == ["/v1/metrics"]
    assert pump.counts.sent == 0
    assert pump.counts.dropped["refused"] > 30 * 60
