"""What `nvidia-smi --query-gpu=... --format=csv` prints, live or in a file somebody kept.

A header and its cells may both carry the unit (`power.draw [W]`, `33.09 W`), one of them, or neither
(`nounits`). A cell in brackets (`[N/A]`, `[Not Supported]`, `[Unknown Error]`) means that there is no value:
it is left out, never 0. `utilization.gpu` is the share of time in which any kernel ran, not how full the GPU was.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Row = dict[str, str]

MIB, MHZ = 1 << 20, 1_000_000

QUANTITIES: "dict[str, tuple[str, int]]" = {
    "clocks.current.graphics": ("graphics_clock", MHZ),
    "clocks.current.memory": ("mem_clock", MHZ),
    "clocks.current.sm": ("sm_clock", MHZ),
    "clocks.current.video": ("video_clock", MHZ),
    "clocks.gr": ("graphics_clock", MHZ),
    "clocks.mem": ("mem_clock", MHZ),
    "clocks.sm": ("sm_clock", MHZ),
    "clocks.video": ("video_clock", MHZ),
    "enforced.power.limit": ("power_limit", 1),
    "fan.speed": ("fan", 1),
    "memory.free": ("mem_free", MIB),
    "memory.reserved": ("mem_reserved", MIB),
    "memory.total": ("mem_total", MIB),
    "memory.used": ("mem_used", MIB),
    "power.draw": ("power", 1),
    "power.draw.average": ("power_average", 1),
    "power.draw.instant": ("power_instant", 1),
    "power.limit": ("power_limit", 1),
    "temperature.gpu": ("temp", 1),
    "temperature.memory": ("mem_temp", 1),
    "utilization.decoder": ("dec_util", 1),
    "utilization.encoder": ("enc_util", 1),
    "utilization.gpu": ("util", 1),
    "utilization.jpeg": ("jpg_util", 1),
    "utilization.memory": ("mem_util", 1),
    "utilization.ofa": ("ofa_util", 1),
}
"""By the name a query uses: the quantity of our key (`nvsmi_mem_used`) and the base units of one printed unit."""

_UNITS = {
    "%": 1,
    "W": 1,
    "mW": 0.001,
    "C": 1,
    "B": 1,
    "KiB": 1 << 10,
    "MiB": MIB,
    "GiB": 1 << 30,
    "MB": MIB,
    "KHz": 1000,
    "MHz": MHZ,
    "GHz": 1000 * MHZ,
}
"""Base units of a unit named in a cell or a header; nvidia-smi's `MB` of older releases counts in 1,048,576."""

_ABSENT = frozenset(("", "-", "n/a", "nan", "none", "err!", "not supported", "unknown error", "no data"))


def parse_csv(text: str, names: "Sequence[str] | None" = None) -> "list[Row]":
    """Split rows into named cells; names come from the first line unless given. Absent cells are left out."""
    lines = [line for line in text.splitlines() if line.strip()]
    if names is None:
        names, lines = split_line(lines[0]) if lines else [], lines[1:]
    rows: list[Row] = []
    for line in lines:
        cells = split_line(line)
        row = {name: cell for name, cell in zip(names, cells, strict=False) if not is_absent(cell)}
        if row:
            rows.append(row)
    return rows


def split_line(line: str) -> list[str]:
    """Cut a line at its commas; nvidia-smi quotes nothing and has a blank after each comma."""
    return [cell.strip() for cell in line.split(",")]


def column(header: str) -> tuple[str, str]:
    """Take a header apart: `power.draw [W]` is `power.draw` in `W`; the unit is empty where none is said."""
    name, bracket, unit = header.partition("[")
    return name.strip().lower(), unit.rstrip().removesuffix("]").strip() if bracket else ""


def is_absent(cell: str) -> bool:
    """Tell a cell that says there is no value from one that holds one."""
    word = cell.strip().lower()
    return word.startswith(("[", "requested functionality")) or word in _ABSENT


def value(header: str, cell: str) -> "int | float | None":
    """Give a cell in base units, exact; None where it holds no number or the column is none we know."""
    name, header_unit = column(header)
    known = QUANTITIES.get(name)
    if known is None or is_absent(cell):
        return None
    number, _, cell_unit = cell.strip().partition(" ")
    if number.endswith("%"):
        number, cell_unit = number[:-1], "%"
    factor = _UNITS.get(cell_unit.strip() or header_unit, known[1])
    return scaled(number, factor)


def scaled(number: str, factor: float) -> "int | float | None":
    """Read a decimal number and scale it; whole results stay whole."""
    try:
        found = int(number) if number.lstrip("+-").isdigit() else float(number)
    except ValueError:
        return None
    if found != found or found in (float("inf"), float("-inf")):
        return None
    result = found * factor
    return int(result) if factor != 1 and float(result).is_integer() else result
