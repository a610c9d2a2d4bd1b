"""What Cloud Build says of a build: `gcloud builds describe --format=json`, or the words around its log.

A build waits in a queue from `createTime` to `startTime` and works from there to `finishTime`. What a document does
not say is None: a build that still waits has no start, one that was cancelled in the queue never worked.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from jobmeter.formats import loose_json, quantity
from jobmeter.model.run import Status, Value

SUCCESS = "SUCCESS"
_STATUSES = {
    SUCCESS: Status.COMPLETED,
    "FAILURE": Status.FAILED,
    "INTERNAL_ERROR": Status.FAILED,
    "TIMEOUT": Status.CANCELLED,
    "EXPIRED": Status.CANCELLED,
    "CANCELLED": Status.CANCELLED,
}
_LIVE = {
    "PENDING": Status.QUEUED,
    "QUEUED": Status.QUEUED,
    "WORKING": Status.RUNNING,
}
_PHASES = {
    "fetch_source_seconds": "FETCHSOURCE",
    "build_phase_seconds": "BUILD",
    "push_image_seconds": "PUSH",
}
_LOCATION = re.compile(r"locations/([\w-]+)/|[;?&]region=([\w-]+)")
_GLOBAL = "global"
_STARTING = re.compile(r'starting build "([^"\n]+)"')
_TOLD = re.compile(
    r"^(?:(ID|STATUS|CREATE_TIME|DURATION|BUILD FAILURE)|ERROR(?=: (?:build step \d|failed to solve|.*exceeded)))"
    r": *(\S.*)$",
    re.MULTILINE,
)
"""The last words; an ERROR without a name is the build's own, not one of the many tools it ran."""
_TABLE = re.compile(r"^ID  +CREATE_TIME  +DURATION .*STATUS\s*\n(\S.*)$", re.MULTILINE)
_TABLE_CELLS = 4
_DURATION = re.compile(r"(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?")
_SECTION = re.compile(r"^(DONE|ERROR)\s*$", re.MULTILINE)
_SECTIONS = {"DONE": SUCCESS, "ERROR": "FAILURE"}
_FAILED_STEP = re.compile(r"build step (\d+) ")
_LATEST = 65_536
"""Where in a log its last words stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFacts:
    """One build of Cloud Build; None is not said."""

    build_id: str | None = None
    status: str | None = None
    region: str | None = None
    machine_type: str | None = None
    worker_pool: str | None = None
    log_url: str | None = None
    error: str | None = None
    created_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    working_seconds: int | None = None
    fetch_source_seconds: int | None = None
    build_phase_seconds: int | None = None
    push_image_seconds: int | None = None
    build_start_time: str | None = None
    build_end_time: str | None = None
    total_steps: int | None = None
    failed_step: int | None = None

    @property
    def queue_wait_seconds(self) -> int | None:
        """How long it waited before it began."""
        return _between(self.created_at, self.started_at)

    @property
    def duration_seconds(self) -> int | None:
        """How long it took from being asked for to its end."""
        return _between(self.created_at, self.finished_at)

    @property
    def state(self) -> Status | None:
        """How it ended; None while it has not."""
        return _STATUSES.get(self.status or "")

    @property
    def standing(self) -> Status | None:
        """How it stands, ended or not."""
        return self.state or _LIVE.get(self.status or "")

    def as_record(self) -> dict[str, Value]:
        """Name what is known."""
        names = [field.name for field in fields(self)] + ["queue_wait_seconds", "duration_seconds"]
        known = {name: getattr(self, name) for name in names}
        return {name: value for name, value in known.items() if value is not None}


def is_build(document: object) -> bool:
    """Tell the description of a build from other JSON."""
    if not isinstance(document, dict):
        return False
    return "createTime" in document and "status" in document and ("steps" in document or "logUrl" in document)


def from_description(document: Mapping[str, object]) -> BuildFacts:
    """Read what `gcloud builds describe --format=json` printed."""
    timing, options = loose_json.mapping(document.get("timing")), loose_json.mapping(document.get("options"))
    started, finished = _moment(document.get("startTime")), _moment(document.get("finishTime"))
    phases = {name: _phase(timing, phase) for name, phase in _PHASES.items()}
    build_phase = loose_json.mapping(timing.get("BUILD"))
    listed = document.get("steps")
    steps = [loose_json.mapping(step) for step in listed] if isinstance(listed, list) else []
    pool = loose_json.mapping(options.get("pool")).get("name") or options.get("workerPool")
    return BuildFacts(
        build_id=loose_json.text(document.get("id")),
        status=loose_json.text(document.get("status")),
        region=_region(document),
        machine_type=loose_json.text(options.get("machineType")),
        worker_pool=loose_json.text(pool),
        log_url=loose_json.text(document.get("logUrl")),
        error=_error(document),
        created_at=_moment(document.get("createTime")),
        started_at=started,
        finished_at=finished,
        working_seconds=_between(started, finished),
        build_start_time=loose_json.text(build_phase.get("startTime")),
        build_end_time=loose_json.text(build_phase.get("endTime")),
        total_steps=len(steps) or None,
        failed_step=_failed_step(steps),
        **phases,
    )


def from_log(text: str) -> BuildFacts:
    """Read what stands around the log of `gcloud builds submit`."""
    starting = _STARTING.search(text)
    told = {name: value.strip() for name, value in _TOLD.findall(text[-_LATEST:])}
    table = _TABLE.search(text[-_LATEST:])
    row = table[1].split() if table is not None else []
    if len(row) >= _TABLE_CELLS:
        told |= {"ID": row[0], "CREATE_TIME": row[1], "DURATION": row[2], "STATUS": row[-1]}
    error = told.get("BUILD FAILURE") or told.get("")
    failed = _FAILED_STEP.search(error or "")
    sections = _SECTION.findall(text[-_LATEST:]) if starting is not None else []
    reached = _SECTIONS[sections[-1]] if sections else "FAILURE" if error else None
    region = _LOCATION.search(text[:_LATEST])
    return BuildFacts(
        build_id=starting[1] if starting is not None else told.get("ID"),
        status=told.get("STATUS") or reached,
        region=None if region is None else region[1] or region[2],
        error=error,
        created_at=_moment(told.get("CREATE_TIME")),
        working_seconds=_spelled_duration(told.get("DURATION")),
        failed_step=int(failed[1]) if failed is not None else None,
    )


def _region(document: Mapping[str, object]) -> str:
    for key in ("name", "logUrl"):
        found = _LOCATION.search(str(document.get(key) or ""))
        if found is not None:
            return found[1] or found[2]
    return _GLOBAL  # builds without a location run there


def _error(document: Mapping[str, object]) -> str | None:
    if document.get("status") == SUCCESS:
        return None
    failure = loose_json.mapping(document.get("failureInfo"))
    return loose_json.text(failure.get("detail")) or loose_json.text(document.get("statusDetail"))


def _failed_step(steps: list[dict[str, object]]) -> int | None:
    return next((at for at, step in enumerate(steps) if step.get("status") in ("FAILURE", "TIMEOUT")), None)


def _phase(timing: Mapping[str, object], name: str) -> int | None:
    phase = loose_json.mapping(timing.get(name))
    return _between(_moment(phase.get("startTime")), _moment(phase.get("endTime")))


def _moment(value: object) -> float | None:
    found = quantity.moment(value) if isinstance(value, str) else None
    return None if found is None else found.seconds


def _between(begin: float | None, end: float | None) -> int | None:
    return int(end - begin) if begin is not None and end is not None and end >= begin else None


def _spelled_duration(text: str | None) -> int | None:
    """Read `6M17S`."""
    found = _DURATION.fullmatch(text or "")
    if found is None or not any(found.groups()):
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 3600 * hours + 60 * minutes + seconds
