"""ai-toolkit's `aitk_db.db`: the jobs of its UI, with the steps of those whose output is at hand.

What misleads: the trainer writes the status, so a job whose process was killed stays `running`; `updated_at` is
when the row last changed, not when the job ended; a job that never began is no run and is left out.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import aitk_loss, figures, loose_json, sqlite_file, training
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status
from jobmeter.model.view import Step

FORMAT = "aitk_db"
NAME = "aitk_db.db"
_COLUMNS = ("id", "name", "status", "gpu_ids", "job_config", "created_at", "updated_at")
_OPTIONAL = ("step", "total_steps", "info", "speed_string", "job_type", "pid")
_STATUS = {"completed": Status.COMPLETED, "error": Status.FAILED, "stopped": Status.CANCELLED}

Job = dict[str, object]


def sniff(head: bytes, name: str) -> float:
    """Claim an SQLite file by its name, or by the job table in its first page."""
    if not head.startswith(sqlite_file.MAGIC):
        return 0.0
    marked = b"job_config" in head and b"gpu_ids" in head
    return 1.0 if marked else 0.5 if name == NAME else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read every job that began."""
    jobs = [job for job in _jobs(path) if _began(job)]
    if not jobs:
        raise training.nothing("no job in it ever began")
    return [_imported(job, path) for job in jobs]


def _jobs(path: Path) -> list[Job]:
    with sqlite_file.opened(path) as database:
        there = database.columns("Job")
        if not there.issuperset(_COLUMNS):
            raise UsageError(f"{path.name}: no Job table in it", hint="give ai-toolkit's aitk_db.db")
        names = [*_COLUMNS, *(name for name in _OPTIONAL if name in there)]
        # the names are our own, from the two constants above
        rows = database.rows(f"SELECT {', '.join(names)} FROM Job ORDER BY created_at, id")  # noqa: S608
    return [dict(zip(names, row, strict=True)) for row in rows]


def _began(job: Job) -> bool:
    return bool(figures.whole(job.get("step"))) or job["status"] in ("running", "completed", "error")


def _imported(job: Job, path: Path) -> Imported:
    config = loose_json.parse_object(str(job["job_config"])) or {}
    log_path = _log_path(job, config, path)
    log = aitk_loss.read(log_path) if log_path is not None else aitk_loss.Log([], 0)
    status = _STATUS.get(str(job["status"]))
    told = training.Told(
        format=FORMAT,
        digest=_digest(job, log.steps),
        sources=(path,) if log_path is None else (path, log_path),
        steps=log.steps,
        events=aitk_loss.weights_beside(log_path.parent) if log_path is not None else (),
        name=loose_json.text(job["name"]),
        status=status,
        started_at=figures.moment(job["created_at"]),
        ended_at=figures.moment(job["updated_at"]) if status is not None else None,
        results={
            key: job[key] for key in ("step", "total_steps", "speed_string") if job.get(key) is not None
        },
        context={"config": training.plain(config), FORMAT: _facts(job)},
        missing=_missing(log_path, log),
        inexact=_inexact(status),
    )
    return training.imported(told)


def _digest(job: Job, steps: list[Step]) -> str:
    told = f"{job['id']} {job['status']} {job.get('step')} {job['updated_at']} {aitk_loss.digest(steps)}"
    return hashlib.sha256(told.encode()).hexdigest()


def _log_path(job: Job, config: dict[str, object], path: Path) -> Path | None:
    """Find the steps: where the config puts its output, or where the UI does by itself."""
    processes = loose_json.mapping(config.get("config")).get("process")
    first = loose_json.mapping(processes[0]) if isinstance(processes, list) and processes else {}
    folders = [path.parent / "output"]
    given = loose_json.text(first.get("training_folder"))
    if given:
        folders.insert(0, path.parent / given)
    name = loose_json.text(job["name"])
    if name is None or "/" in name or name in (".", ".."):
        return None
    found = (folder / name / aitk_loss.NAME for folder in folders)
    return next((each for each in found if each.is_file()), None)


def _facts(job: Job) -> dict[str, object]:
    kept = ("id", "status", "gpu_ids", "info", "job_type", "pid")
    return {key: training.plain(job[key]) for key in kept if job.get(key) not in (None, "")}


def _missing(log_path: Path | None, log: aitk_loss.Log) -> dict[str, str]:
    if log_path is None:
        return {"steps": "no loss_log.db where the job's config says its output is"}
    return aitk_loss.missing(log)


def _inexact(status: Status | None) -> dict[str, str]:
    found = {"started_at": "when the job was made, which may be long before it began"}
    if status is None:
        return found | {"status": "the database says running, which a killed job says too"}
    return found | {
        "ended_at": "when the job's row last changed",
        "wall_seconds": "includes waiting in the queue",
    }
