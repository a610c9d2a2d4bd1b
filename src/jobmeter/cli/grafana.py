"""Print a Grafana dashboard of jobmeter's metrics, or alert rules for Prometheus.

Import the dashboard in Grafana (Dashboards, New, Import); it asks for the Prometheus or VictoriaMetrics that has the
metrics. Name the rules under `rule_files` in prometheus.yml.
"""

import argparse
import sys

from jobmeter.cli import common
from jobmeter.service import dashboards


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--alert-rules", action="store_true", help="print alert rules for Prometheus instead, as YAML"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, as it does without")


def main(args: argparse.Namespace) -> int:
    """Print one of the two."""
    if args.alert_rules:
        sys.stdout.write(dashboards.alert_rules())
    else:
        common.print_json(dashboards.dashboard())
    return 0
