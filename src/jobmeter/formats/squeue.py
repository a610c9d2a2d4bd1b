"""What `squeue` prints as text: its table, also with a delimiter, `id,STATE` lines, and one JSON object a line.

A queue is a moment: it says where each job stood, never what it used. The end of a running job in it is when
its time limit would end it.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.formats import jobrecord, loose_json, monitorlog, quantity, slurm_keys
from jobmeter.model.imported import Imported
from jobmeter.model.run import Limits, Value

ORIGIN = "squeue"
_LINE = re.compile(r"(\d+(?:_[\d\[\],%-]+)?)\s*[,|]\s*([A-Za-z_]+)")
_ALIASES = {
    "a": "account", "account": "account", "array_id": "array", "cpu": "cpus", "cpus": "cpus", "id": "jobid",
    "jobid": "jobid", "job_id": "jobid", "mem": "memory", "min_memory": "memory", "name": "name", "nodelist": "nodes",
    "nodelist(reason)": "nodes", "nodes": "node_count", "p": "partition", "partition": "partition", "r": "nodes",
    "st": "state", "state": "state", "time": "elapsed", "time_limi": "time_limit", "time_limit": "time_limit",
    "u": "user", "user": "user",
}  # fmt: skip
"""Column names of the table and of hand-made formats to one word each."""

_DELIMITERS = ";|,\t"
_FEWEST_LETTERS = 3

Row = dict[str, str]


def sniff(head: bytes, _name: str) -> float:
    """Claim the table's header, lines of an id and a state, and JSON lines with both."""
    lines = [line for line in monitorlog.head_text(head).split("\n") if line.strip()]
    if not lines:
        return 0.0
    # the long listing begins with the date
    header = _header(lines[0]) or (_header(lines[1]) if len(lines) > 1 else None)
    if header is not None:
        return 0.95 if "partition" in header[0] else 0.9
    rows = [row for line in lines[:20] if (row := _json_row(line))]
    if rows and all("jobid" in row and slurm_keys.state_word(row.get("state", "")) for row in rows):
        return 0.9
    shaped = [_LINE.fullmatch(line.strip()) for line in lines[:20]]
    return (
        0.9
        if all(found and len(found[2]) > 1 and slurm_keys.state_word(found[2]) for found in shaped)
        else 0.0
    )


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per job in the queue; of a queue that was listed again and again, how it stood last."""
    jobs = {row["jobid"]: _job(row, text) for row, text in _rows(path)}.values()
    return jobrecord.imported(
        path, jobs, format=ORIGIN, tool=slurm_keys.TOOL, definitions=slurm_keys.DEFINITIONS
    )


def _rows(path: Path) -> Iterator[tuple[Row, str]]:
    names: list[str] = []
    delimiter: str | None = None
    for line in monitorlog.text_lines(path):
        header = _header(line) if "JOBID" in line else None
        if header is not None:
            names, delimiter = header
            continue
        row = _json_row(line) or _pair(line) or _table_row(line, names, delimiter)
        if row.get("jobid") and slurm_keys.state_word(row.get("state", "")):
            yield row, line


def _json_row(line: str) -> Row:
    if not line.lstrip().startswith("{"):
        return {}
    found = loose_json.parse_object(line) or {}  # a hand-made format may write what is no JSON
    words = {_ALIASES[name]: str(value) for name, value in found.items() if name in _ALIASES}
    return {name: word for name, word in words.items() if not quantity.is_absent(word)}


def _pair(line: str) -> Row:
    found = _LINE.fullmatch(line.strip())
    return {"jobid": found[1], "state": found[2]} if found else {}


def _header(line: str) -> tuple[list[str], str | None] | None:
    """Read the names of the columns, and what parts them if not blanks; None for a line that is no header."""
    delimiter = next((mark for mark in _DELIMITERS if mark in line), None)
    words = [name for word in line.split(delimiter) for name in _unglued(word.strip())]
    names = [_ALIASES.get(word.lower(), word.lower()) for word in words]
    is_header = "JOBID" in words and ("state" in names or "PARTITION" in words)
    return (names, delimiter) if is_header else None


def _unglued(word: str) -> list[str]:
    """Part `PARTITSTATE`: a column as narrow as its heading is cut off and runs into the next."""
    if word.lower() in _ALIASES or not word.isupper():
        return [word]
    for known in sorted(_ALIASES, key=len, reverse=True):
        head = word.lower().removesuffix(known)
        if (
            head != word.lower()
            and len(head) >= _FEWEST_LETTERS
            and any(n.startswith(head) for n in _ALIASES)
        ):
            return [next(n for n in _ALIASES if n.startswith(head)), known]
    return [word]


def _table_row(line: str, names: list[str], delimiter: str | None) -> Row:
    # the last column may hold blanks: (Nodes required for job are DOWN)
    words = line.split(delimiter, len(names) - 1) if names else []
    return {name: word.strip() for name, word in zip(names, words, strict=False)}


def _job(row: Row, text: str) -> jobrecord.Job:
    cpus = quantity.number(row.get("cpus", ""))
    elapsed = quantity.clock_seconds(row.get("elapsed", ""))
    nodes = row.get("nodes", "")
    summary: dict[str, Value] = {} if elapsed is None else {"slurm_elapsed": elapsed}
    reason = nodes.strip("()") if nodes.startswith("(") else None
    return jobrecord.Job(
        id=row["jobid"],
        text=text,
        status=slurm_keys.status(row["state"]),
        name=row.get("name"),
        user=row.get("user"),
        host=nodes if nodes and reason is None and not set(nodes) & set("[,]") else None,
        wall_seconds=elapsed,
        limits=Limits(
            memory_bytes=quantity.size_bytes(row.get("memory", ""), bare=slurm_keys.MIB) or None,
            cpus=None if cpus is None else float(cpus),
        ),
        summary=summary,
        details={
            "state": row["state"],
            "nodes": nodes if reason is None else None,
            "reason": loose_json.text(reason),
        },
        tags={name: row[name] for name in ("partition", "account") if name in row},
    )
