"""Collect what the ranks of a job tell, over folders, ssh and http, into a run folder; and start such jobs.

The names of `fleet` that fronts under other tools' names need are handed on here.
"""

import dataclasses
from collections.abc import Callable, Sequence

from jobmeter.fleet import hostsfile, launching, session, targets
from jobmeter.fleet.alerts import Alert
from jobmeter.fleet.breaker import CircuitBreaker
from jobmeter.fleet.breaker import State as CircuitBreakerState
from jobmeter.fleet.collector import TrainingMetricsCollector, create_metrics_collector
from jobmeter.fleet.keeping import Asked
from jobmeter.fleet.launching import Launched
from jobmeter.fleet.metrics import TrainingMetrics
from jobmeter.fleet.session import Collected
from jobmeter.fleet.settings import BreakerPolicy, MetricsCollectorConfig
from jobmeter.fleet.targets import Target

__all__ = [
    "Alert",
    "BreakerPolicy",
    "CircuitBreaker",
    "CircuitBreakerState",
    "Collected",
    "Launched",
    "MetricsCollectorConfig",
    "Target",
    "TrainingMetrics",
    "TrainingMetricsCollector",
    "Wish",
    "collect",
    "create_metrics_collector",
    "launching",
    "targets",
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a collection is to do."""

    job_id: str
    ranks_file: str
    command: Sequence[str]
    """What the run is listed as."""
    interval_seconds: float | None = None
    """None leaves it to the file."""
    duration_seconds: float | None = None
    """None goes on until somebody says stop."""


def collect(home: str, wish: Wish, *, say: Callable[[str], None]) -> Collected:
    """Collect until the time is over or a signal ends it; `say` hears what a person should not miss."""
    hosts = hostsfile.read(wish.ranks_file)
    if wish.interval_seconds is not None:
        config = dataclasses.replace(hosts.config, collection_interval=wish.interval_seconds)
        hosts = dataclasses.replace(hosts, config=config)
    asked = Asked(
        job_id=wish.job_id,
        command=list(wish.command),
        home=home,
        cluster=hosts.cluster,
        interval=hosts.config.collection_interval,
    )
    return session.run(hosts, asked, duration_seconds=wish.duration_seconds, say=say)
