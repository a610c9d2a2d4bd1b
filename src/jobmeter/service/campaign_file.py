"""`campaign_stats.json` on disk: one writer at a time, replaced whole, never lost.

Writers take turns by a lock on a file beside it, which stays; readers need none, for they see the old file or the new
one. A file that cannot be read is put aside under another name, and said.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from jobmeter.errors import UsageError, reason_of
from jobmeter.exporters import campaign as campaign_exporter
from jobmeter.formats import content, loose_json
from jobmeter.model import moments
from jobmeter.service import campaign_book, notices, whole_files
from jobmeter.service.campaign_book import Record

NAME = "campaign_stats.json"
_PATIENCE_SECONDS = 60.0
_TURN_SECONDS = 0.005
_T = TypeVar("_T")


class DamagedError(Exception):
    """A file that holds no campaign."""


def change(
    path: Path, act: Callable[[Record], _T], now: float, *, warn: notices.Warn = notices.to_stderr
) -> _T:
    """Read the campaign, let somebody change it, and put it back before anybody else comes."""
    target = Path(os.path.realpath(path))
    _require_file(target)
    with _turn(target):
        document = _taken(target, now, warn)
        answer = act(document)
        _put(target, document)
    return answer


def _require_file(target: Path) -> None:
    """Refuse what would not be a campaign afterwards: a device or a pipe keeps nothing."""
    try:
        is_other = target.exists() and not target.is_file()
    except OSError as error:
        raise UsageError(
            f"cannot read {target}: {reason_of(error)}", hint="choose another with --file"
        ) from None
    if is_other:
        raise UsageError(f"cannot read {target}: it is no file", hint="choose another with --file")


def read(path: Path, now: float) -> Record | None:
    """Read the campaign as it stands; None where there is none yet."""
    try:
        return _read(Path(os.path.realpath(path)), now)
    except DamagedError as damage:
        raise UsageError(
            f"{path} holds no campaign: {damage}", hint="the next `jobmeter campaign record` puts it aside"
        ) from None


def _read(target: Path, now: float) -> Record | None:
    try:
        raw = target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(
            f"cannot read {target}: {reason_of(error)}", hint="choose another with --file"
        ) from None
    if not raw.strip():
        return None  # somebody made the file before us, to own it
    try:
        return campaign_book.migrated(_object(raw), now)
    except TypeError as error:
        raise DamagedError(str(error)) from None


def _object(raw: bytes) -> Record:
    """Decode what strict readers refuse too: NaN, a byte order mark, bytes that are no UTF-8."""
    try:
        document = loose_json.parse(content.decoded(raw))
    except ValueError as error:
        raise DamagedError(f"it is no JSON ({error})") from None
    if not isinstance(document, dict):
        raise DamagedError("it is no JSON object")
    return document


def _taken(target: Path, now: float, warn: notices.Warn) -> Record:
    try:
        found = _read(target, now)
    except DamagedError as damage:
        aside = _put_aside(target, now)
        warn(f"{target} held no campaign ({damage}): it is kept as {aside.name}, and a new one begins")
        found = None
    return campaign_book.fresh(now) if found is None else found


def _put_aside(target: Path, now: float) -> Path:
    moment = moments.utc(now)
    stamp = f"{moment:%Y%m%dT%H%M%SZ}" if moment is not None else "unknown"
    names = (f"{target.name}.damaged-{stamp}{tail}" for tail in ("", *(f"-{n}" for n in range(1, 1000))))
    aside = next(path for name in names if not os.path.lexists(path := target.with_name(name)))
    try:
        target.rename(aside)
    except OSError as error:
        raise UsageError(f"cannot put {target} aside: {reason_of(error)}", hint="move it away") from None
    return aside


def _put(target: Path, document: Record) -> None:
    text = campaign_exporter.encode(document)
    with whole_files.writing(target) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _turn(target: Path) -> Iterator[None]:
    """Wait until it is our turn to write."""
    lock = target.with_name(f"{target.name}.lock")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {reason_of(error)}", hint="choose another with --file"
        ) from None
    try:
        _wait_for(fd, lock)
        yield
    finally:
        os.close(fd)


def _wait_for(fd: int, lock: Path) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() > until:
                raise UsageError(
                    f"cannot lock {lock}: {reason_of(error)}", hint="see who holds it: fuser -v that file"
                ) from None
            time.sleep(_TURN_SECONDS)
        else:
            return
