"""OTLP over HTTP: metrics with the times they were measured at, and ended runs as spans.

Messages are those of OpenTelemetry's SDK, encoded by its exporter; they are posted here, because the exporter keeps to
itself why a collector refused. https://opentelemetry.io/docs/specs/otlp/#otlphttp says which answers to try again.
"""

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import jobmeter
from jobmeter.delivery import otlp_spans
from jobmeter.delivery.pump import Outcome, retry_seconds
from jobmeter.delivery.samples import Points, Slice
from jobmeter.errors import UsageError
from jobmeter.exporters.metric_names import Family, Type
from jobmeter.model.run import Run

if TYPE_CHECKING:
    import httpx
    from opentelemetry.sdk.metrics.export import Metric, MetricsData, NumberDataPoint

TIMEOUT_SECONDS = 30.0
RETRYABLE = frozenset((401, 403, 404, 405, 407, 429, 502, 503, 504))
"""What the specification says to try again, and what is put right by mending our settings or the collector's."""
_NANOSECONDS_OF_MS = 1_000_000
_MAX_REASON_LETTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class OtlpSettings:
    """Where metrics and spans go, and as whom."""

    url: str
    """Of the collector, without `/v1/metrics`."""
    headers: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Of the resource: the cluster, the site."""
    metrics: bool = True
    spans: bool = True
    interval_seconds: float = 15.0
    max_age_seconds: float = 3600.0


class _Message(Protocol):
    def SerializeToString(self) -> bytes:  # noqa: N802  # protobuf's name
        """Encode it."""


def require_installed() -> None:
    """Refuse to begin without OpenTelemetry's packages."""
    try:
        import opentelemetry.exporter.otlp.proto.common
        import opentelemetry.sdk.metrics  # noqa: F401  # asked for, so that a server says at its start what is missing
    except ModuleNotFoundError:
        raise UsageError(
            "the packages of OpenTelemetry are missing", hint="install them: pip install 'jobmeter[otlp]'"
        ) from None


@dataclass(slots=True)
class _Work:
    """How far a batch has come."""

    batch: Sequence[Slice] | None = None
    done: set[str] = field(default_factory=set)
    dropped: int = 0
    reason: str = ""


class Otlp:
    """An outlet that speaks OTLP."""

    def __init__(self, settings: OtlpSettings) -> None:
        require_installed()
        import httpx
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        self.wants_story = settings.spans
        self._settings = settings
        self._resource = Resource({"service.name": "jobmeter", **settings.attributes})
        self._scope = InstrumentationScope("jobmeter", jobmeter.__version__)
        self._work = _Work()
        self._client = httpx.Client(
            timeout=TIMEOUT_SECONDS,
            follow_redirects=False,
            headers={
                **settings.headers,
                "Content-Type": "application/x-protobuf",
                "Content-Encoding": "gzip",
                "User-Agent": f"jobmeter/{jobmeter.__version__}",
            },
        )

    def close(self) -> None:
        """Give connections back."""
        self._client.close()

    def send(self, batch: Sequence[Slice], *, again: bool) -> Outcome:
        """Send the metrics of a batch, then the runs that ended; what was taken is not sent twice."""
        del (
            again
        )  # a point of the same series and time, or a span of the same id, takes the place of the first
        if self._work.batch is not batch:
            self._work = _Work(batch)
        work = self._work
        points = (
            sum(len(one.times_ms) for part in batch for one in part.points) if self._settings.metrics else 0
        )
        for path, encoded in self._messages(batch).items():
            if path in work.done:
                continue
            message = encoded()
            outcome = Outcome(taken=True) if message is None else self._post(path, message)
            if not outcome.taken:
                return outcome
            work.done.add(path)
            work.reason = outcome.reason or work.reason
            if path == _METRICS:
                # all of it where nothing is said of how many
                work.dropped = points if outcome.dropped < 0 else outcome.dropped
        unsent = sum(part.size for part in batch) - points
        self._work = _Work()
        return Outcome(taken=True, dropped=work.dropped, unsent=unsent, reason=work.reason)

    def _messages(self, batch: Sequence[Slice]) -> dict[str, Callable[[], _Message | None]]:
        wanted: dict[str, Callable[[], _Message | None]] = {}
        if self._settings.metrics:
            wanted[_METRICS] = lambda: self._metrics(batch)
        if self._settings.spans:
            wanted[_TRACES] = lambda: self._spans(batch)
        return wanted

    def _metrics(self, batch: Sequence[Slice]) -> "_Message | None":
        from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics

        data = self.metrics_data(batch)
        return None if data is None else encode_metrics(data)

    def metrics_data(self, batch: Sequence[Slice]) -> "MetricsData | None":
        """Put the points of a batch together by metric."""
        from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics

        by_family: dict[Family, list[NumberDataPoint]] = {}
        for part in batch:
            for points in part.points:
                by_family.setdefault(points.family, []).extend(_data_points(part.run, points))
        if not by_family:
            return None
        metrics = [_metric(family, points) for family, points in by_family.items()]
        scoped = ScopeMetrics(self._scope, metrics, "")
        return MetricsData([ResourceMetrics(self._resource, [scoped], "")])

    def _spans(self, batch: Sequence[Slice]) -> "_Message | None":
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

        made = otlp_spans.spans(batch, self._resource, self._scope)
        return encode_spans(made) if made else None

    def _post(self, path: str, message: _Message) -> Outcome:
        import httpx

        body = gzip.compress(message.SerializeToString(), 5)
        try:
            answer = self._client.post(self._settings.url.rstrip("/") + path, content=body)
        except httpx.TransportError as error:
            return Outcome(taken=False, reason=f"{type(error).__name__}: {error}"[:_MAX_REASON_LETTERS])
        if answer.is_success:
            return _partly(path, answer)
        reason = f"{answer.status_code} {_said(answer)}"
        if answer.status_code in RETRYABLE or not answer.is_client_error:
            wait = retry_seconds(answer.headers.get("Retry-After"))
            return Outcome(taken=False, reason=reason, retry_seconds=wait)
        return Outcome(taken=True, dropped=_ALL, reason=reason)


_ALL = -1
_METRICS, _TRACES = "/v1/metrics", "/v1/traces"


def _data_points(run: Run, points: Points) -> "list[NumberDataPoint]":
    from opentelemetry.sdk.metrics.export import NumberDataPoint

    begun = round((run.started_at or 0.0) * 1000) * _NANOSECONDS_OF_MS
    labels = dict(points.labels)
    return [
        NumberDataPoint(
            attributes=labels,
            # where the sum began; gauges have no beginning
            start_time_unix_nano=begun if points.family.type is Type.COUNTER else 0,
            time_unix_nano=moment * _NANOSECONDS_OF_MS,
            value=float(value),
        )
        for moment, value in zip(points.times_ms, points.values, strict=True)
    ]


def _metric(family: Family, points: "list[NumberDataPoint]") -> "Metric":
    """Make a metric; what Prometheus makes of it again is named as ours is."""
    from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, Metric, Sum

    if family.type is Type.COUNTER:
        total = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        return Metric(family.name, family.about, "", total)
    return Metric(family.sample_name, family.about, "", Gauge(points))


def _partly(path: str, answer: "httpx.Response") -> Outcome:
    """Read what a collector took only a part of."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

    if path != _METRICS or not answer.content:
        return Outcome(taken=True)
    try:
        partial = ExportMetricsServiceResponse.FromString(answer.content).partial_success
    except DecodeError:
        return Outcome(taken=True)  # some answer in JSON, or with a page: they took it
    reason = partial.error_message[:_MAX_REASON_LETTERS]
    return Outcome(taken=True, dropped=partial.rejected_data_points, reason=reason)


def _said(answer: "httpx.Response") -> str:
    printable = (
        answer.text if answer.headers.get("content-type", "").startswith(("text", "application/json")) else ""
    )
    return " ".join(printable.split())[:_MAX_REASON_LETTERS]
