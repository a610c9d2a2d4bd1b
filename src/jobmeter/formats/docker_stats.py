"""What docker says of containers: its API's JSON, `docker stats` as table, CSV or JSON lines. One run each.

What misleads: `usage` contains page cache, what people see is usage less inactive file pages; a limit equal to the
host's memory is none; `CPU %` counts 100 per core; network and block totals count in thousands, memory in 1,024s;
the first answer of the API has no earlier one to compare with (`preread` in the year 1).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import docker_api, docker_rows, loose_json, monitorlog
from jobmeter.formats.docker_keys import DEFINITIONS, ORIGIN, Container
from jobmeter.model.imported import Imported


def sniff(head: bytes, name: str) -> float:
    """Claim the API's fields, the table's header, docker's JSON lines, and CSVs of containers."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] in (b"{", b"["):
        if b'"cpu_stats"' in head or b'"precpu_stats"' in head or b'"blkio_stats"' in head:
            return 0.95
        return 0.95 if b'"CPUPerc"' in head and b'"MemUsage"' in head else 0.0
    text = monitorlog.head_text(head)
    lines = (text if len(head) < docker_rows.HEAD_BYTES else text.rpartition("\n")[0]).split("\n")
    return docker_rows.certainty([line for line in lines if line.strip()], name)


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per container."""
    with path.open("rb") as file:
        start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    containers = _from_json(path) if start[:1] in (b"{", b"[") else docker_rows.read(path)
    if not containers:
        raise UsageError(f"{path.name} holds no container", hint="give what docker stats printed, whole")
    return [_imported(path, container) for container in containers]


def _from_json(path: Path) -> list[Container]:
    records = list(_objects(path.read_text(encoding="utf-8-sig", errors="replace")))
    if any("CPUPerc" in record for record in records):
        return docker_rows.from_records(records)
    return docker_api.containers(records)


def _objects(text: str) -> Iterator[dict[str, object]]:
    """Decode a single answer, a list or a stream of them, or a map of container ids to answers."""
    decoder, place = json.JSONDecoder(), 0
    while place < len(text):
        while place < len(text) and text[place] in " \t\r\n,[]":
            place += 1
        try:
            found, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return  # the end, cut off, or nested without end
        if not isinstance(found, dict):
            continue
        inner = [
            {"id": key} | loose_json.mapping(item) for key, item in found.items() if isinstance(item, dict)
        ]
        yield from [found] if _is_answer(found) else [item for item in inner if _is_answer(item)]


def _is_answer(record: Mapping[str, object]) -> bool:
    return "cpu_stats" in record or "CPUPerc" in record or "memory_stats" in record


def _imported(path: Path, container: Container) -> Imported:
    facts = monitorlog.Facts(
        name=container.name,
        limits=container.limits,
        missing={"command": "a container's statistics do not name it"} | container.missing,
        inexact=container.inexact,
        summary=container.totals,
        context={"docker": {"id": container.id}} if container.id else {},
    )
    return monitorlog.imported(
        path,
        format=ORIGIN,
        definitions=DEFINITIONS,
        windows=container.windows,
        facts=facts,
        part=container.id or container.name or "",
    )
