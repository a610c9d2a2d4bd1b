"""The `duct_time` prototype of April 2024: one `stats.json` of GNU time's figures, without a command.

What misleads: `cpu-time` repeats the system time, `memory-avg-kb` is 0 because Linux does not measure it,
and one of the numbers is a text.
"""

import hashlib
import re
from datetime import datetime
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import duct_keys, loose_json
from jobmeter.model.imported import Imported, identify
from jobmeter.model.run import Output, Provenance, Run, Status, Value

MARK = b'"cpu-user-time"'
_SUFFIX = ".stats.json"
_STAMPED_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d)_\d+\.stats\.json")


def parse(path: Path) -> Imported:
    """Read one prototype file and the outputs beside it."""
    content = path.read_bytes()
    record = loose_json.parse_object(content)
    if record is None:
        raise UsageError(f"{path.name} is damaged: not con-duct's prototype", hint="restore it from a copy")
    digest = hashlib.sha256(content).hexdigest()
    outputs = _outputs(path)
    summary = _summary(record)
    started_at = _started_at(path.name)
    run_id = identify(started_at, digest)
    run = Run(
        run_id=run_id,
        job_id=run_id,
        status=Status.COMPLETED,
        command=(),
        started_at=started_at,
        wall_seconds=_figure(record.get("elapsed-time")),
        summary=summary,
        provenance=Provenance(
            selected=tuple(sorted(summary)),
            missing={
                "command": "the prototype did not record it",
                "exit_code": "the prototype did not record it",
            },
            inexact={"status": "the file was written at the end; how the command ended was not recorded"},
            origin="duct",
        ),
        outputs=tuple(Output(stream=stream, mode="captured", path=stream) for stream in outputs),
        definitions={key: duct_keys.DEFINITIONS[key] for key in summary},
        context={"duct": {"prefix": path.name.removesuffix(_SUFFIX), "schema_version": "2024 prototype"}},
    )
    return Imported(format="duct", digest=digest, run=run, sources=(path, *outputs.values()), outputs=outputs)


def _summary(record: dict[str, object]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    user, system = _figure(record.get("cpu-user-time")), _figure(record.get("cpu-system-time"))
    largest_kib = _figure(record.get("memory-max-kb"))
    if user is not None and system is not None:
        found["wait_cputime"] = round(user + system, 2)
    if largest_kib:
        found["wait_maxrss"] = round(largest_kib * 1024)
    return found


def _figure(value: object) -> float | None:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    number = loose_json.number(value)
    return None if number is None else float(number)


def _started_at(name: str) -> float | None:
    stamped = _STAMPED_NAME.fullmatch(name)
    return datetime.fromisoformat(stamped.group(1)).timestamp() if stamped else None


def _outputs(path: Path) -> dict[str, Path]:
    if not path.name.endswith(_SUFFIX):
        return {}
    stem = path.name.removesuffix(_SUFFIX)
    found = {"stdout": path.with_name(f"{stem}.out"), "stderr": path.with_name(f"{stem}.err")}
    return {stream: file for stream, file in found.items() if file.is_file() and file.stat().st_size}
