"""Many hosts, one job: read what every rank tells, from afar, each on its own beat."""
