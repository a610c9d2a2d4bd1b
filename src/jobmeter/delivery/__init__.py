"""What leaves the machine: runs to a server, alerts to people, metrics to dashboards."""
