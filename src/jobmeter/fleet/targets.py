"""Where a rank can be asked: a folder here, `ssh://user@host:22/folder`, `http://host/folder`.

`{rank}` and `{job}` in a target or file name are filled in. A target that ends in `.json` or `.jsonl` is the
metrics file itself. Passwords do not belong in targets: they would be written into the run.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from urllib.parse import SplitResult, quote, unquote, urlsplit

from jobmeter.errors import UsageError
from jobmeter.fleet.settings import MetricsCollectorConfig

RANK_METRICS, RANK_LOG = "metrics_rank{rank}.jsonl", "logs/rank_{rank}.log"
"""Files of one rank that are looked for before those that the ranks of a folder share."""


class Scheme(Enum):
    """How a target is reached."""

    LOCAL = "file"
    SSH = "ssh"
    HTTP = "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where one rank's files are."""

    scheme: Scheme
    address: str
    """Of the endpoint, as people write it: `ssh://me@node7:2222`, `http://node7:8000`, or the folder here."""
    folder: str
    """The path there, placeholders not yet filled in."""
    user: str = ""
    host: str = ""
    port: int = 0
    metrics_file: str | None = None
    log_file: str | None = None
    gpu: int | str | None = None
    """Index or UUID of the GPU the rank uses, where it is known."""
    ssh_options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The files to look at for one rank, in order of trust."""

    metrics: tuple[str, ...]
    log: tuple[str, ...]
    folder: str
    gpu: int | str | None
    output: str
    """Where the output of a command that is started for this rank goes: the log that is looked at first."""
    shared: frozenset[str] = frozenset()
    """Metrics files that other ranks look at as well."""


_OPTIONS = frozenset(one.name for one in fields(Target)) & {"metrics_file", "log_file", "gpu", "ssh_options"}


def parse(raw: object, **more: object) -> Target:
    """Read a target: text, a path, or a table with `target` and what differs for these ranks."""
    if isinstance(raw, Target):
        return raw
    if isinstance(raw, Mapping):
        return _table(raw, more)
    text = os.fspath(raw) if isinstance(raw, os.PathLike) else raw
    if not isinstance(text, str) or not text.strip() or "\0" in text or "\n" in text:
        raise UsageError(
            f"cannot read the target {raw!r}", hint="write a folder, ssh://host/folder or http://..."
        )
    scheme, separator, _ = text.partition("://")
    if not separator:
        return _local(text, more)
    if scheme == "file":
        return _local(unquote(text.removeprefix("file://")), more)
    if scheme not in ("ssh", "http", "https"):
        raise UsageError(
            f"unknown kind of target: {scheme}", hint="use a folder, ssh://, http:// or https://"
        )
    try:
        split = urlsplit(text)
        port = split.port or 0
    except ValueError as error:
        raise UsageError(f"cannot read the target {text}: {error}") from None
    if split.password is not None or (scheme != "ssh" and split.username is not None):
        raise UsageError(
            f"a target must not hold a password: {scheme}://{split.hostname or ''}",
            hint="ssh uses your keys and agent; put what http needs in front of a proxy",
        )
    return _remote(text, split, port, more)


def _remote(text: str, split: SplitResult, port: int, more: Mapping[str, object]) -> Target:
    host, user = split.hostname or "", unquote(split.username or "")
    if not host or host.startswith("-") or user.startswith("-"):
        raise UsageError(f"a target needs a host: {text}", hint="write ssh://host/folder")
    shown = f"[{host}]" if ":" in host else host
    address = f"{split.scheme}://{f'{user}@' if user else ''}{shown}{f':{port}' if port else ''}"
    if split.scheme == "ssh":
        # like scp: /~/x and no path at all are below the home directory there
        folder = unquote(split.path).removeprefix("/~/") or "."
        return _build(
            more, scheme=Scheme.SSH, address=address, folder=folder, user=user, host=host, port=port
        )
    folder = split.path if not split.query else f"{split.path}?{split.query}"
    return _build(more, scheme=Scheme.HTTP, address=address, folder=folder, host=host, port=port)


def _local(path: str, more: Mapping[str, object]) -> Target:
    folder = os.path.abspath(os.path.expanduser(path))
    return _build(more, scheme=Scheme.LOCAL, address=folder, folder=folder)


def _build(more: Mapping[str, object], **known: object) -> Target:
    return Target(**known, **more)  # type: ignore[arg-type]  # names and types checked in _table


def _table(raw: Mapping[object, object], more: Mapping[str, object]) -> Target:
    if "target" not in raw:
        raise UsageError("a rank's table needs a target", hint='write 0 = { target = "ssh://host/folder" }')
    options: dict[str, object] = dict(more)
    for key, value in raw.items():
        if key == "target":
            continue
        if key not in _OPTIONS:
            raise UsageError(
                f"unknown key of a target: {key}", hint=f"use one of {', '.join(sorted(_OPTIONS))}"
            )
        options[str(key)] = _option(str(key), value)
    return parse(raw["target"], **options)


def _option(key: str, value: object) -> object:
    if key == "ssh_options":
        return words(key, value)
    right = (
        isinstance(value, int | str) and not isinstance(value, bool)
        if key == "gpu"
        else isinstance(value, str)
    )
    if not right or value == "":
        raise UsageError(f"cannot read {key} = {value!r} of a target")
    return value


def words(key: str, value: object) -> tuple[str, ...]:
    """Read a list of words, as given to ssh."""
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise UsageError(f"{key} must be a list of words, not {value!r}")
    return tuple(value)


def cluster(raw: Mapping[object, object], **more: object) -> dict[int, Target]:
    """Map every rank to its target; a key is a rank, or several: `0-7`, `0,2,4`."""
    found: dict[int, Target] = {}
    for key, value in raw.items():
        target = parse(value, **more)
        for rank in ranks(key):
            if rank in found:
                raise UsageError(f"rank {rank} has two targets")
            found[rank] = target
    return found


def ranks(raw: object) -> list[int]:
    """Read ranks: a number, or text such as `0-7,16`."""
    if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0:
        return [raw]
    found: list[int] = []
    for part in str(raw).split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(part) > _LONGEST_SPAN:
            raise UsageError(f"cannot read the ranks {raw!r}", hint="write 0, 0-7 or 0,2,4")
        span = range(int(first), int(last or first) + 1)
        if len(found) + len(span) > _MOST_RANKS:
            raise UsageError(f"too many ranks: {raw}", hint=f"a job may have {_MOST_RANKS:,}")
        found += span
    if not found or len(found) != len(set(found)):
        raise UsageError(f"cannot read the ranks {raw!r}", hint="write 0, 0-7 or 0,2,4")
    return found


_LONGEST_SPAN = 15
"""Letters of one span, blanks included."""
_MOST_RANKS = 100_000


def places(targets: Mapping[int, Target], config: MetricsCollectorConfig, job_id: str) -> dict[int, Place]:
    """Name the files of every rank; a log that several ranks share is read for the lowest of them."""
    found: dict[int, Place] = {}
    users: dict[tuple[str, str], list[int]] = {}
    for rank, target in sorted(targets.items()):
        found[rank] = _place(target, config, job_id, rank)
        for path in (*found[rank].metrics, *found[rank].log):
            users.setdefault((target.address, path), []).append(rank)
    for rank, place in found.items():
        address = targets[rank].address
        shared = frozenset(path for path in place.metrics if len(users[address, path]) > 1)
        log = tuple(path for path in place.log if users[address, path][0] == rank)
        found[rank] = replace(place, log=log, shared=shared)
    return found


def _place(target: Target, config: MetricsCollectorConfig, job_id: str, rank: int) -> Place:
    folder = fill(target.folder, job_id, rank)
    usual = MetricsCollectorConfig()
    metrics = _names(target.metrics_file, config.metrics_file, usual.metrics_file, RANK_METRICS)
    logs = _names(target.log_file, config.log_file, usual.log_file, RANK_LOG)
    path = folder.partition("?")[0]
    if path.endswith((".json", ".jsonl")):
        parent = path.rpartition("/")[0]
        own = logs if target.log_file is not None else ()
        return Place(
            metrics=(folder,),
            log=_joined(target, parent, own, job_id, rank),
            folder=parent,
            gpu=target.gpu,
            output=_joined(target, parent, logs, job_id, rank)[0],
        )
    log = _joined(target, folder, logs, job_id, rank)
    return Place(
        metrics=_joined(target, folder, metrics, job_id, rank),
        log=log,
        folder=folder,
        gpu=target.gpu,
        output=log[0],
    )


def _names(own: str | None, given: str, usual: str, of_rank: str) -> tuple[str, ...]:
    """A name that somebody chose is the only one; the usual one gives way to the file of the rank."""
    if own is not None:
        return (own,)
    return (of_rank, given) if given == usual else (given,)


def _joined(target: Target, folder: str, names: Iterable[str], job_id: str, rank: int) -> tuple[str, ...]:
    filled = (fill(name, job_id, rank) for name in names)
    if target.scheme is Scheme.HTTP:
        return tuple(f"{folder.rstrip('/')}/{quote(name.lstrip('/'))}" for name in filled)
    return tuple(os.path.join(folder, os.path.expanduser(name)) for name in filled)


def fill(text: str, job_id: str, rank: int) -> str:
    """Put rank and job into a name."""
    return text.replace("{rank}", str(rank)).replace("{job}", job_id)
