"""What teams put beside our metrics: a dashboard and alert rules."""

from jobmeter.exporters import grafana, prometheus_rules


def dashboard() -> dict[str, object]:
    """Give the Grafana dashboard."""
    return grafana.dashboard()


def alert_rules() -> str:
    """Give the alert rules for Prometheus."""
    return prometheus_rules.render()
