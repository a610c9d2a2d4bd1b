"""The metrics collector under the names people know: a thin front over `jobmeter.fleet`.

collector = create_metrics_collector({0: "/data/job", 1: "ssh://node2/data/job"}, config)
await collector.start_collection("job_001", [0, 1])
"""

from jobmeter.fleet.alerts import Alert
from jobmeter.fleet.breaker import CircuitBreaker
from jobmeter.fleet.breaker import State as CircuitBreakerState
from jobmeter.fleet.collector import TrainingMetricsCollector, create_metrics_collector
from jobmeter.fleet.metrics import TrainingMetrics
from jobmeter.fleet.settings import BreakerPolicy, MetricsCollectorConfig

__all__ = [
    "Alert",
    "BreakerPolicy",
    "CircuitBreaker",
    "CircuitBreakerState",
    "MetricsCollectorConfig",
    "TrainingMetrics",
    "TrainingMetricsCollector",
    "create_metrics_collector",
]
