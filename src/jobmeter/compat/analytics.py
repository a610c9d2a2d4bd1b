"""The figures of a training server's dashboard under its own names: one job, all jobs, several side by side.

Without `home` the runs are looked for where every command looks: `JOBMETER_HOME`, a `.jobmeter/` above the
working directory, else the user's own. A job nobody knows raises `UnknownJobError`.
"""

import os
from collections.abc import Sequence

from jobmeter.config import home as homes
from jobmeter.service import analytics
from jobmeter.service.analytics import UnknownJobError

__all__ = ["UnknownJobError", "calculate_job_analytics", "calculate_system_analytics", "compare_jobs"]


def calculate_job_analytics(job_id: str, *, home: str | None = None) -> dict[str, object]:
    """Calculate comprehensive analytics for a single job."""
    return analytics.job(_home(home), job_id)


def calculate_system_analytics(
    *, page: int | None = None, per_page: int = 50, home: str | None = None
) -> dict[str, object]:
    """Calculate aggregated analytics across all jobs; with a page also list the jobs on it."""
    return analytics.system(_home(home), page=page, per_page=per_page)


def compare_jobs(job_ids: Sequence[str], *, home: str | None = None) -> dict[str, object]:
    """Compare multiple jobs side by side."""
    return analytics.compare(_home(home), job_ids)


def _home(given: str | None) -> str:
    return homes.find_home(homes.working_directory(), os.environ, given)
