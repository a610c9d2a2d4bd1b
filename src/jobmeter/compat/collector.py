"""The metrics collector under the names people know: a thin front over `service.collecting`.

collector = create_metrics_collector({0: "/data/job", 1: "ssh://node2/data/job"}, config)
await collector.start_collection("job_001", [0, 1])
"""

from jobmeter.service.collecting import (
    Alert,
    BreakerPolicy,
    CircuitBreaker,
    CircuitBreakerState,
    MetricsCollectorConfig,
    TrainingMetrics,
    TrainingMetricsCollector,
    create_metrics_collector,
)

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
