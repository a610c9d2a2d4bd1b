"""Under the names ai-toolkit's design gave them: the monitoring tables in `aitk_db.db`."""

from jobmeter.service.aitk import ensure_monitoring_tables, fill

__all__ = ["ensure_monitoring_tables", "fill"]
