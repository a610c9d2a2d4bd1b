"""Under the names ai-toolkit's design gave them: the monitoring tables in `aitk_db.db`, and a job's analysis."""

from jobmeter.service.aitk import ensure_monitoring_tables, fill
from jobmeter.service.job_analysis import job_analysis

__all__ = ["ensure_monitoring_tables", "fill", "job_analysis"]
