"""What the parts of a training used: its loop, the workers that load data for it, and what runs beside them."""

from collections.abc import Iterator, Sequence

from jobmeter.cli.render.rows import Row
from jobmeter.model import roles, units
from jobmeter.model.view import Process
from jobmeter.service import by_role
from jobmeter.service.by_role import Share

_NAMES = {roles.MAIN: "main", roles.WORKER: "workers", roles.OTHER: "others"}


def role_rows(processes: Sequence[Process]) -> Iterator[Row]:
    """Say what each part used; a job without workers has no row."""
    for place, (role, share) in enumerate(by_role.shares(processes).items()):
        yield Row("roles" if place == 0 else "", f"{_NAMES[role]:<7}  {_share(share)}")


def _share(share: Share) -> str:
    parts = [f"{units.format_count(share.processes)} process{'es' if share.processes != 1 else ''}"]
    if share.memory_peak_bytes is not None:
        parts.append(f"{units.format_bytes(share.memory_peak_bytes)} resident at once")
    if share.cpu_seconds is not None:
        parts.append(f"{units.format_seconds(share.cpu_seconds)} of CPU")
    return ", ".join(parts)
