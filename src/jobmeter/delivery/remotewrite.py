"""Prometheus remote write, version 1: protobuf messages of four kinds, packed with snappy, by POST.

https://prometheus.io/docs/concepts/remote_write_spec/ . Receivers refuse a whole request for one bad sample (older
than the newest of its series, older than an hour), so a refused request is sent again in halves until what is bad
stands alone; only that is dropped. Wrong credentials or a wrong address drop nothing: samples wait in the store.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import jobmeter
from jobmeter.delivery.pump import Outcome, retry_seconds
from jobmeter.delivery.samples import Points, Slice
from jobmeter.exporters.metric_names import Labels, joined

STALE = struct.pack("<Q", 0x7FF0000000000002)
"""The NaN by which Prometheus knows that a series is over."""
TIMEOUT_SECONDS = 30.0
MISCONFIGURED = frozenset((401, 403, 404, 405, 407))
TOO_MANY, BAD_REQUEST = 429, 400
MISCONFIGURED_SECONDS = 60.0
_HELD_ALREADY = ("out of order", "duplicate sample")
_OF_SAMPLES = ("sample", "series", "label", "order", "bounds", "limit", "metric", "too old", "exemplar")
"""One of these is in what a receiver says of samples it refuses."""
_MAX_REASON_LETTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteWriteSettings:
    """Where samples go, and as whom."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    labels: Labels = ()
    """Added to every series: the cluster, the site."""
    ca_file: str | None = None
    interval_seconds: float = 15.0
    max_age_seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class Encoded:
    """One series of a request."""

    message: bytes
    points: int


def encode_request(series: Iterable[Encoded]) -> bytes:
    """Put series together as one `WriteRequest`."""
    return b"".join(b"\x0a" + _varint(len(one.message)) + one.message for one in series)


def encode_batch(batch: Iterable[Slice], more: Labels = ()) -> list[Encoded]:
    """Encode the series of a batch, each with its own samples in order."""
    found: list[Encoded] = []
    for part in batch:
        found += [encode_series(points, more) for points in part.points]
        ending = _sample(part.until.usage_ms, STALE)
        for family, labels in part.over:
            head = _labels(family.sample_name, joined(labels, more))
            found.append(Encoded(head + ending, 1))
    return found


def encode_series(points: Points, more: Labels = ()) -> Encoded:
    """Encode one series as a `TimeSeries`."""
    head = _labels(points.family.sample_name, joined(points.labels, more) if more else points.labels)
    pack = struct.Struct("<d").pack
    samples = [
        _sample(moment, pack(value)) for moment, value in zip(points.times_ms, points.values, strict=True)
    ]
    return Encoded(head + b"".join(samples), len(samples))


def _labels(name: str, labels: Labels) -> bytes:
    # receivers want them in order; `__name__` comes before every letter
    return b"".join(_label(*pair) for pair in (("__name__", name), *labels))


@lru_cache(4096)
def _label(name: str, value: str) -> bytes:
    message = _text(b"\x0a", name) + _text(b"\x12", value)
    return b"\x0a" + _varint(len(message)) + message


def _text(tag: bytes, text: str) -> bytes:
    encoded = text.encode("utf-8", "replace")
    return tag + _varint(len(encoded)) + encoded


def _sample(moment_ms: int, value: bytes) -> bytes:
    head, tail = _around_value(moment_ms)
    return head + value + tail


@lru_cache(4096)
def _around_value(moment_ms: int) -> tuple[bytes, bytes]:
    """Encode what stands before and after the value of a sample: all series of a run are measured together."""
    tail = b"\x10" + _varint(moment_ms)
    return b"\x12" + _varint(1 + 8 + len(tail)) + b"\x09", tail


def _varint(number: int) -> bytes:
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


@dataclass(slots=True)
class _Work:
    """What is left to send of a batch."""

    batch: Sequence[Slice] | None = None
    waiting: list[list[Encoded]] = field(default_factory=list)
    dropped: int = 0
    reason: str = ""


class RemoteWrite:
    """An outlet that speaks remote write."""

    wants_story = False

    def __init__(self, settings: RemoteWriteSettings) -> None:
        import ssl

        import httpx

        self._settings = settings
        self._work = _Work()
        self._client = httpx.Client(
            timeout=TIMEOUT_SECONDS,
            follow_redirects=False,
            verify=ssl.create_default_context(cafile=settings.ca_file),
            headers={
                **settings.headers,
                "Content-Encoding": "snappy",
                "Content-Type": "application/x-protobuf",
                "User-Agent": f"jobmeter/{jobmeter.__version__}",
                "X-Prometheus-Remote-Write-Version": "0.1.0",
            },
        )

    def close(self) -> None:
        """Give connections back."""
        self._client.close()

    def send(self, batch: Sequence[Slice], *, again: bool) -> Outcome:
        """Send a batch; in halves where a part of it is refused."""
        if self._work.batch is not batch:
            series = encode_batch(batch, self._settings.labels)
            self._work = _Work(batch, [series] if series else [])
        work = self._work
        while work.waiting:
            part = work.waiting[-1]
            outcome = self._post(part, again=again)
            if not outcome.taken:
                return outcome  # the next try goes on with what is left
            work.waiting.pop()
            if outcome.dropped and len(part) > 1:
                middle = len(part) // 2
                work.waiting += [part[middle:], part[:middle]]
            elif outcome.dropped:
                work.dropped += outcome.dropped
                work.reason = outcome.reason
        self._work = _Work()
        return Outcome(taken=True, dropped=work.dropped, reason=work.reason)

    def _post(self, series: Sequence[Encoded], *, again: bool) -> Outcome:
        import cramjam
        import httpx

        body = bytes(cramjam.snappy.compress_raw(encode_request(series)))
        try:
            answer = self._client.post(self._settings.url, content=body)
        except httpx.TransportError as error:
            return Outcome(taken=False, reason=f"{type(error).__name__}: {error}"[:_MAX_REASON_LETTERS])
        if answer.is_success:
            return Outcome(taken=True)
        said = " ".join(answer.text.split())[:_MAX_REASON_LETTERS]
        reason = f"{answer.status_code} {said}"
        if (
            answer.status_code == TOO_MANY
            or answer.status_code in MISCONFIGURED
            or not answer.is_client_error
        ):
            return Outcome(
                taken=False, reason=reason, retry_seconds=retry_seconds(answer.headers.get("Retry-After"))
            )
        # a part of a batch may have been taken before: only of a single series it is certain that it was
        if again and len(series) == 1 and any(words in said for words in _HELD_ALREADY):
            return Outcome(taken=True)
        if answer.status_code == BAD_REQUEST and not any(word in said.lower() for word in _OF_SAMPLES):
            # it speaks of something else than what we sent: most likely the address is not that of a receiver
            return Outcome(taken=False, reason=reason, retry_seconds=MISCONFIGURED_SECONDS)
        return Outcome(taken=True, dropped=sum(one.points for one in series), reason=reason)
