"""What `sinfo` prints: the nodes of a cluster at one moment, as text or (by `slurm_json`) as JSON.

The text has no clock and no unit; what each number is must be told by its heading or by the layout, and these are
known: tables with headings, also with a delimiter, `node,state`, the columns of `sinfo -N -O
NodeList,AllocMem,Memory,CPUsState,StateLong`, CPUs as `allocated/idle/other/total` of the whole cluster, and JSON
lines with a node, its state and its CPUs. What misleads: a node stands in every partition it belongs to.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jobmeter.formats import loose_json, monitorlog, quantity
from jobmeter.formats.slurm_json_values import number, positive, word
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Stat, Unit
from jobmeter.model.view import Window

ORIGIN = "sinfo"
_MIB = 1 << 20
_LAST = (Stat.TOTAL,)

DEFINITIONS = monitorlog.table(
    (
        monitorlog.label("slurm_node_state", "what the scheduler says of a node"),
        monitorlog.gauge("slurm_node_cpus", Unit.COUNT, "CPUs of a node", stats=_LAST),
        monitorlog.gauge("slurm_node_alloc_cpus", Unit.COUNT, "CPUs given to jobs", stats=_LAST),
        monitorlog.gauge("slurm_node_mem", Unit.BYTES, "memory the scheduler may give", stats=_LAST),
        monitorlog.gauge("slurm_node_alloc_mem", Unit.BYTES, "memory given to jobs", stats=_LAST),
        monitorlog.gauge("slurm_node_free_mem", Unit.BYTES, "memory the system says is free", stats=_LAST),
        monitorlog.gauge("slurm_node_load", Unit.NONE, "load of a node, as printed", stats=(Stat.PEAK,)),
    )
)
_STATES = (
    "allocated alloc completing comp down drained drain draining drng fail failing failg future futr idle inval "
    "maint mixed mix perfctrs npc planned plnd power_down powering_down powered_down powering_up reboot reserved resv "
    "unknown unk no_respond"
)
_STATE = re.compile(rf"(?:{'|'.join(_STATES.split())})(?:[*~#!%$@^+-]|\+\w+)*", re.IGNORECASE)
_SPLIT = re.compile(r"[,\s|]+")
_CPUS = re.compile(r"(\d+)/(\d+)/(\d+)/(\d+)")
_HEADINGS = {
    "ALLOCMEM": "alloc_mem", "CPU": "cpus", "CPUS": "cpus", "CPUS(A/I/O/T)": "cpu_states", "CPU_LOAD": "load",
    "FREE_MEM": "free_mem", "HOSTNAME": "name", "HOSTNAMES": "name", "MEMORY": "mem", "NODELIST": "name",
    "NODES": "count", "PARTITION": "partition", "STATE": "state",
}  # fmt: skip
_OTHER_HEADINGS = (
    "ACTIVE_FEATURES AVAIL AVAIL_FEATURES CLUSTER CORES DEFAULTTIME FEATURES GRES GRES_USED GROUPS JOB_SIZE "
    "MAX_CPUS_PER_NODE NODES(A/I) NODES(A/I/O/T) NODEADDR OVERSUBSCRIBE PREEMPT_MODE PRIO_TIER REASON ROOT S:C:T SHARE "
    "SOCKETS THREADS TIMELIMIT TIMESTAMP TMP_DISK USER VERSION WEIGHT"
)
_ALL_HEADINGS = frozenset((*_HEADINGS, *_OTHER_HEADINGS.split()))
_SIZES = ("mem", "alloc_mem", "free_mem")
_FEWEST_HEADINGS = 3
_FEWEST_LETTERS = 4
_PLAIN_WIDTHS = (2, 5)

Row = dict[str, quantity.Number | str]


def sniff(head: bytes, _name: str) -> float:
    """Claim lines of a node and its state, of all lines there are."""
    text = monitorlog.head_text(head)
    lines = _after_date([line for line in text.split("\n") if line.strip()])
    if lines and _header(lines[0]):
        return 0.95
    whole = lines[:-1] if len(lines) > 1 and not text.endswith("\n") else lines
    return 0.85 if whole and all(_row(line) for line in whole[:40]) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read the nodes as one window."""
    lines = _after_date([line for line in monitorlog.text_lines(path) if line.strip()])
    rows = _table_rows(lines) if lines and _header(lines[0]) else map(_row, lines)
    return [of_nodes(path, [row for row in rows if row], ORIGIN)]


def from_json(path: Path, nodes: Sequence[dict[str, object]], origin: str) -> Imported:
    """Read the nodes of `sinfo --json`."""
    return of_nodes(path, [_json_row(node) for node in nodes], origin)


def _after_date(lines: list[str]) -> list[str]:
    """Pass over the date that the long form begins with."""
    return lines[1:] if lines and quantity.moment(lines[0]) else lines


def of_nodes(path: Path, rows: Sequence[Row], origin: str) -> Imported:
    """Make the run of a list of nodes."""
    values: monitorlog.Values = {}
    for row in rows:
        name = str(row.get("name", ""))
        told = {key: value for key, value in row.items() if key not in ("name", "count")}
        values |= {(f"slurm_node_{key}", name): value for key, value in told.items()}
    windows = [Window(timestamp=0.0, num_samples=1, clock={}, values=values)] if values else []
    tally: dict[str, int] = {}
    for row in rows:
        state = str(row.get("state", "unknown")).lower()
        tally[state] = tally.get(state, 0) + _count(row)
    facts = monitorlog.Facts(
        missing={"started_at": "a list of nodes says nothing of when it was made"},
        context={"slurm": {"nodes": sum(map(_count, rows)), "states": dict(sorted(tally.items()))}},
    )
    return monitorlog.imported(path, format=origin, definitions=DEFINITIONS, windows=windows, facts=facts)


def _count(row: Row) -> int:
    """A line of the table stands for several nodes."""
    nodes = row.get("count", 1)
    return nodes if isinstance(nodes, int) else 1


def _row(line: str) -> Row:
    if line.lstrip().startswith("{"):
        return _json_line(line)
    whole = _CPUS.fullmatch(line.strip())
    if whole:
        return {"name": "all", "alloc_cpus": int(whole[1]), "cpus": int(whole[4])}
    words = [word for word in _SPLIT.split(line.strip()) if word]
    if len(words) not in _PLAIN_WIDTHS or not _STATE.fullmatch(words[-1]) or _STATE.fullmatch(words[0]):
        return {}
    row: Row = {"name": words[0], "state": words[-1]}
    if len(words) == _PLAIN_WIDTHS[0]:
        return row
    cpus = _CPUS.fullmatch(words[3])
    allocated, total = quantity.number(words[1]), quantity.number(words[2])
    if cpus is None or allocated is None or total is None:
        return {}
    return row | {
        "alloc_mem": round(allocated * _MIB),
        "mem": round(total * _MIB),
        "alloc_cpus": int(cpus[1]),
        "cpus": int(cpus[4]),
    }


def _json_line(line: str) -> Row:
    """Read one line of the format `{"n": node, "s": state, "cstate": "64/0/0/64", "mem": MiB, ...}`."""
    told = loose_json.parse_object(line) or {}
    name, state = loose_json.text(told.get("n")), loose_json.text(told.get("s"))
    cpus = _CPUS.fullmatch(loose_json.text(told.get("cstate")) or "")
    if not name or not state or cpus is None:
        return {}
    found: Row = {"name": name, "state": state, "alloc_cpus": int(cpus[1]), "cpus": int(cpus[4])}
    for key, field, factor in (("mem", "mem", _MIB), ("free_mem", "fmem", _MIB), ("load", "l", 1)):
        number = quantity.number(str(told.get(field, "")))
        if number is not None:
            found[key] = number * factor
    return found


def _header(line: str) -> tuple[list[str], str | None] | None:
    """Read the headings, and what parts them if not blanks; None for a line that holds anything else."""
    delimiter = next((mark for mark in ";|," if mark in line), None)
    names = [name.strip() for name in line.split(delimiter)]
    known = {_HEADINGS[name] for name in names if name in _HEADINGS}
    if len(names) < _FEWEST_HEADINGS or not all(map(_is_heading, names)):
        return None
    return (names, delimiter) if known & {"name", "partition"} and known & {"state", "cpus", "mem"} else None


def _is_heading(word: str) -> bool:
    """Tell a heading, also one as narrow columns cut it: `AVAIL_FE`."""
    return word in _ALL_HEADINGS or (
        len(word) >= _FEWEST_LETTERS and any(known.startswith(word) for known in _ALL_HEADINGS)
    )


def _table_rows(lines: Sequence[str]) -> Iterator[Row]:
    header = _header(lines[0])
    names, delimiter = header or ([], None)
    for line in lines[1:]:
        words = [word.strip() for word in line.split(delimiter, max(len(names) - 1, 0))]
        cells = {_HEADINGS[name]: word for name, word in zip(names, words, strict=False) if name in _HEADINGS}
        if len(words) < len(names) or ("state" in cells and not _STATE.fullmatch(cells["state"])):
            continue
        yield _cells(cells)


def _cells(cells: dict[str, str]) -> Row:
    """Read one line of the table; with a count of nodes it stands for that many."""
    several = [cells[name] for name in ("partition", "name") if name in cells]
    row: Row = {"name": several[-1] if "count" not in cells else ":".join(several).replace("*", "", 1)}
    if "state" in cells:
        row["state"] = cells["state"]
    cpus = _CPUS.fullmatch(cells.get("cpu_states", ""))
    if cpus is not None:
        row |= {"alloc_cpus": int(cpus[1]), "cpus": int(cpus[4])}
    for key in ("cpus", "load", "count", *_SIZES):
        number = quantity.number(cells.get(key, "").rstrip("+"))
        if number is not None:
            row[key] = round(number * _MIB) if key in _SIZES else number
    return row


def _json_row(node: dict[str, object]) -> Row:
    free, load = positive(node.get("free_memory") or node.get("free_mem")), number(node.get("cpu_load"))
    memory, allocated = number(node.get("real_memory")), number(node.get("alloc_memory"))
    found: dict[str, quantity.Number | str | None] = {
        "name": loose_json.text(node.get("name")),
        "state": word(node.get("state")),
        "cpus": number(node.get("cpus")),
        "alloc_cpus": number(node.get("alloc_cpus")),
        "mem": None if memory is None else round(memory * _MIB),
        "alloc_mem": None if allocated is None else round(allocated * _MIB),
        "free_mem": None if free is None else round(free * _MIB),
        "load": load,
    }
    return {key: value for key, value in found.items() if value is not None}
