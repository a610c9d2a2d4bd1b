"""The samples of one rank, bounded in number and in age; a rank whose samples all went stays known."""

from collections import deque
from collections.abc import Iterator
from datetime import datetime

from jobmeter.fleet.metrics import TrainingMetrics


class RankHistory:
    """Samples in the order they were collected; the oldest go first."""

    def __init__(self, most: int, keep_seconds: float) -> None:
        self._kept: deque[tuple[float, TrainingMetrics]] = deque(maxlen=most)
        self._keep_seconds = keep_seconds
        self.collected = 0
        """Samples ever, those let go included."""

    def add(self, sample: TrainingMetrics, now: float) -> None:
        """Keep one more sample, collected at this monotonic moment."""
        self._kept.append((now, sample))
        self.collected += 1
        self.clean_up(now)

    def clean_up(self, now: float) -> int:
        """Let go of what was collected too long ago; by our clock, for a host's own may be wrong."""
        before = len(self._kept)
        while self._kept and self._kept[0][0] < now - self._keep_seconds:
            self._kept.popleft()
        return before - len(self._kept)

    def latest(self) -> TrainingMetrics | None:
        """Give the newest sample."""
        return self._kept[-1][1] if self._kept else None

    def between(self, since: datetime | None, until: datetime | None) -> list[TrainingMetrics]:
        """Give the samples whose own time lies in a span, both ends included."""
        return [
            sample
            for sample in self
            if (since is None or sample.timestamp >= since) and (until is None or sample.timestamp <= until)
        ]

    def __iter__(self) -> Iterator[TrainingMetrics]:
        return iter([sample for _, sample in self._kept])

    def __len__(self) -> int:
        return len(self._kept)
