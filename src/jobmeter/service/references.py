"""What people call a run: its id or the beginning of one, `last`, its job, its name, or its folder.

An id comes before a job, a job before a name: whoever names a run like the beginning of an id is told so.
What can mislead: a name and a job may have many runs, and mean their newest.
"""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from jobmeter.errors import UnknownError, UsageError, reason_of
from jobmeter.model.query import Compare, Field, Op, RunQuery
from jobmeter.runfolder import reader
from jobmeter.service import notices
from jobmeter.stores import Store

LAST = "last"
STDIN = "-"
"""How a log that is piped in is called."""
_CANDIDATES = 5
_LOOKED_AT = 1000
"""Entries of a folder that are read before saying what may be meant: it may be anybody's."""
_LOGS = (".log", ".out", ".err", ".txt", ".log.gz", ".out.gz", ".err.gz", ".txt.gz")
_STREAMS = ("stdout", "stderr")


def folder(ref: str) -> Path | None:
    """Give the run folder that is meant; None where this is the name of a run."""
    if ref == LAST or not (_is_path(ref) or os.path.isdir(ref)):
        return None
    path = Path(os.path.realpath(ref))
    try:
        if reader.is_run(path):
            return path
    except OSError as error:
        raise UsageError(f"cannot read {ref}: {reason_of(error)}") from None
    if _is_path(ref):
        raise _no_run(ref)
    return None  # a run may be called like a folder that is here too


def _is_path(ref: str) -> bool:
    """Tell what can only be a path; a name may hold a slash."""
    return (
        ref in (".", "..") or ref.startswith(("/", "./", "../", "~")) or ("/" in ref and os.path.exists(ref))
    )


def resolve(store: Store, ref: str, *, warn: notices.Warn = notices.to_stderr) -> str:
    """Turn an id, unique prefix or `last` into an id; a job and a name mean their newest run."""
    if ref == LAST:
        newest = store.briefs(limit=1)
        if not newest:
            raise UnknownError("there is no run yet", hint="record one: jobmeter run -- COMMAND")
        return newest[0].run_id
    found = store.with_prefix(ref, _CANDIDATES + 1) if ref else []
    if ref in found:
        return ref
    named = _newest_named(store, ref)
    if len(found) == 1:
        if named is not None and named != found[0]:
            warn(f"{ref} is taken as the beginning of {found[0]}; the newest run named {ref} is {named}")
        return found[0]
    if found:
        shown = ", ".join(found[:_CANDIDATES]) + (", ..." if len(found) > _CANDIDATES else "")
        also = "" if named is None else f"; the newest run named {ref} is {named}"
        raise UsageError(f"several runs begin with {ref}", hint=f"say more of the id: {shown}{also}")
    of_job = store.of_job(ref)
    if of_job:
        return of_job[0]
    if named is not None:
        return named
    raise _no_run(ref) if os.path.exists(ref) else _unknown(store, ref)


def _newest_named(store: Store, name: str) -> str | None:
    if not name:
        return None
    query = RunQuery(where=Compare(Field("name"), Op.EQ, name), limit=1)
    return next((str(run_id) for (run_id,) in store.values(query, ["id"])), None)


def _unknown(store: Store, ref: str) -> UsageError:
    if "/" in ref or os.path.splitext(ref)[1]:
        return UnknownError(
            f"unknown run: {ref}, and there is no file of that name", hint=_nearest(store, ref)
        )
    return UnknownError(f"unknown run: {ref}", hint=_nearest(store, ref))


def _nearest(store: Store, ref: str) -> str:
    newest = store.briefs(limit=200)
    words = ref.lower()
    alike = [
        run.run_id if words in run.run_id else f"{run.run_id} ({run.name})"
        for run in newest
        if ref and (words in run.run_id or words in (run.name or "").lower())
    ]
    if alike:
        return f"did you mean {', '.join(alike[:_CANDIDATES])}?"
    if not newest:
        return "there is no run yet; record one: jobmeter run -- COMMAND"
    return f"the newest are {', '.join(run.run_id for run in newest[:3])}; see `jobmeter ls`"


def _no_run(ref: str) -> UsageError:
    """Say what a path is instead, and what there may have been meant."""
    if not os.path.exists(ref):
        return UsageError(f"there is no file or folder {ref}", hint="see `jobmeter ls` for runs")
    if os.path.isdir(ref):
        return UsageError(f"{ref} is not a run folder", hint=_inside(ref))
    parent = os.path.dirname(os.path.realpath(ref))
    if reader.is_run(Path(parent)):
        return UsageError(f"{ref} is a file of a run", hint=f"name its folder: {parent}")
    return UsageError(f"{ref} is a file, not a run", hint=f"jobmeter analyze {ref} reads a log")


def _inside(ref: str) -> str:
    """Name what a folder holds that can be asked about."""
    if os.path.isdir(os.path.join(ref, "runs")):
        return f"its runs are found with --home {ref}: jobmeter ls --home {ref}"
    try:
        with os.scandir(ref) as entries:
            held = sorted(islice(entries, _LOOKED_AT), key=lambda entry: entry.name)
    except OSError as error:
        return f"it cannot be looked into: {reason_of(error)}"
    run_folders = [entry.path for entry in held if entry.is_dir() and _is_readable_run(entry.path)]
    if run_folders:
        return f"it holds the run folder{_several(run_folders)} {_listed(run_folders)}"
    logs = list(_newest_logs(held))
    if logs:
        return f"it holds the log{_several(logs)} {_listed(logs)}: jobmeter analyze {logs[0]}"
    return "a run folder holds run.jsonl"


def _is_readable_run(path: str) -> bool:
    try:
        return reader.is_run(Path(path))
    except OSError:
        return False  # another user's: it cannot be what is meant


def _newest_logs(held: list[os.DirEntry[str]]) -> Iterator[str]:
    """Name the files that look like logs and are not empty, the last written first."""
    looked = [
        (entry.stat(), entry.path)
        for entry in held
        if entry.is_file() and (entry.name.lower().endswith(_LOGS) or entry.name in _STREAMS)
    ]
    for status, path in sorted(looked, key=lambda one: (-one[0].st_mtime, one[1])):
        if status.st_size:
            yield path


def _several(paths: list[str]) -> str:
    return "s" if len(paths) > 1 else ""


def _listed(paths: list[str]) -> str:
    return ", ".join(paths[:_CANDIDATES]) + (", ..." if len(paths) > _CANDIDATES else "")
