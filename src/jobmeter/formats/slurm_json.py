"""What `sacct`, `squeue`, `sinfo` and `sdiag` print with `--json`, of every data parser since 21.08.

What misleads: a number may be wrapped (`{"set": false, "infinite": false, "number": 0}` is no number),
`memory` may be -9223372036854771968, microseconds exceed a million, CPU of a step is in milliseconds, a state
may be a list; the end of a running job in a queue is when its time limit would end it.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import (
    jobrecord,
    loose_json,
    sdiag,
    sinfo,
    slurm_json_jobs,
    slurm_json_values,
    slurm_keys,
)
from jobmeter.model.imported import Imported

ORIGIN = "slurm_json"
_MARKS = re.compile(rb'"(?:slurm|data_parser|openapi/v|dbv?0|parts_packed)', re.IGNORECASE)
_PARTS = (b'"jobs"', b'"nodes"', b'"sinfo"', b'"statistics"', b'"meta"')


def sniff(head: bytes, _name: str) -> float:
    """Claim JSON that names Slurm in its head."""
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return 0.0
    return 0.95 if _MARKS.search(head) and any(part in head for part in _PARTS) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per job, or one of the nodes or the scheduler."""
    record = loose_json.parse_object(path.read_bytes())
    if record is None:
        raise UsageError(f"{path.name} is cut off or damaged JSON", hint="ask Slurm again and keep all of it")
    if isinstance(record.get("jobs"), list):
        jobs = [slurm_json_jobs.job(job) for job in slurm_json_values.mappings(record["jobs"])]
        return jobrecord.imported(
            path, jobs, format=ORIGIN, tool=slurm_keys.TOOL, definitions=slurm_keys.DEFINITIONS
        )
    if isinstance(record.get("statistics"), dict):
        return [sdiag.from_json(path, loose_json.mapping(record["statistics"]), ORIGIN)]
    nodes = record.get("nodes") or record.get("sinfo")
    if isinstance(nodes, list):
        return [sinfo.from_json(path, slurm_json_values.mappings(nodes), ORIGIN)]
    raise UsageError(
        f"{path.name} holds no jobs, nodes or statistics", hint="use sacct, squeue, sinfo or sdiag"
    )
