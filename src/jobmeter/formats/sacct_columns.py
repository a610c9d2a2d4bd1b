"""The fields sacct knows, and the columns of a file that was kept without its header.

Two layouts are common enough to be known whole; any other is told by the shape of its cells, and a column
whose shape fits two fields is left unread.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from jobmeter.formats import quantity, slurm_keys

WHOLE_HEAD_BYTES = 4096
_LOOKED_AT = 400

_ALL = """
account admincomment alloccpus allocnodes alloctres associd avecpu avecpufreq avediskread avediskwrite avepages
averss avevmsize blockid cluster comment constraints consumedenergy consumedenergyraw container cputime
cputimeraw dbindex derivedexitcode elapsed elapsedraw eligible end exitcode extra failednode flags gid group
jobid jobidraw jobname layout licenses maxdiskread maxdiskreadnode maxdiskreadtask maxdiskwrite maxdiskwritenode
maxdiskwritetask maxpages maxpagesnode maxpagestask maxrss maxrssnode maxrsstask maxvmsize maxvmsizenode
maxvmsizetask mcslabel mincpu mincpunode mincputask ncpus nnodes nodelist ntasks partition planned plannedcpu
plannedcpuraw priority qos qosraw qosreq reason reqcpufreq reqcpufreqgov reqcpufreqmax reqcpufreqmin reqcpus
reqmem reqnodes reqtres reservation reservationid reserved restarts resvcpu resvcpuraw start state stderr stdin
stdout submit submitline suspended systemcomment systemcpu timelimit timelimitraw totalcpu tresusageinave
tresusageinmax tresusageinmaxnode tresusageinmaxtask tresusageinmin tresusageinminnode tresusageinmintask
tresusageintot tresusageoutave tresusageoutmax tresusageoutmaxnode tresusageoutmaxtask tresusageoutmin
tresusageoutminnode tresusageoutmintask tresusageouttot uid user usercpu wckey wckeyid workdir
"""
NAMES = frozenset(_ALL.split())
"""In lower case, of all releases up to 24.11."""

_COMMON = """
account cluster comment container elapsed end extra flags gid group layout partition priority reason start state
submit uid user
"""
OWN_NAMES = NAMES - frozenset(_COMMON.split())
"""Those no other tool is likely to print."""

_SEFF = "jobid user group state cluster alloccpus reqmem totalcpu elapsed maxrss exitcode nnodes ntasks"
_XDMOD = """
jobid jobidraw cluster partition qos account group gid user uid submit eligible start end elapsed exitcode state
nnodes ncpus reqcpus reqmem reqtres alloctres timelimit nodelist jobname
"""
_LAYOUTS: dict[int, tuple[str, ...]] = {13: tuple(_SEFF.split()), 26: tuple(_XDMOD.split())}
"""What seff and Open XDMoD ask of sacct, by the number of columns."""

_EXIT = re.compile(r"\d+:\d+")
_SIZE = re.compile(r"0|\d+(?:\.\d+)?[KMGT][cn]?")
_FRACTION = re.compile(r"(?:(?:\d+-)?\d+:)?\d+:\d+(?:\.\d+)?")
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|Unknown|None")

Cells = Sequence[str]


def infer(lines: Iterable[Cells]) -> tuple[str, ...] | None:
    """Name the columns of rows without a header; None where they are no jobs."""
    rows = [[cell.strip() for cell in cells] for cells in islice(lines, _LOOKED_AT)]
    width = len(rows[0]) if rows else 0
    whole = [row for row in rows if len(row) == width]
    if width < 3 or len(whole) * 10 < len(rows) * 9:
        return None
    columns = list(zip(*whole, strict=True))
    state = _first(columns, slurm_keys.state_word)
    if not _all(columns[0], slurm_keys.JOB_ID.fullmatch) or state is None:
        return None
    layout = _LAYOUTS.get(width)
    if layout is not None and layout[state] == "state" and _fits(layout, columns):
        return layout
    return _by_shape(
        columns, state, [slurm_keys.JOB_ID.fullmatch(row[0]) is not None and "." in row[0] for row in whole]
    )


def _fits(layout: Sequence[str], columns: Sequence[Cells]) -> bool:
    shapes = {"exitcode": _EXIT, "elapsed": _FRACTION, "totalcpu": _FRACTION, "start": _ISO, "reqmem": _SIZE}
    return all(
        _all(column, shapes[name].fullmatch)
        for name, column in zip(layout, columns, strict=True)
        if name in shapes
    )


def _by_shape(columns: Sequence[Cells], state: int, is_step: Sequence[bool]) -> tuple[str, ...]:
    names = [""] * len(columns)
    names[0], names[state] = "jobid", "state"
    exit_code = _first(columns, _EXIT.fullmatch)
    if exit_code is not None:
        names[exit_code] = "exitcode"
    times = [
        place for place, column in enumerate(columns) if not names[place] and _all(column, _ISO.fullmatch)
    ]
    for place, name in zip(times, _TIMES.get(len(times), ()), strict=False):
        names[place] = name
    for place, column in enumerate(columns):
        if not names[place]:
            names[place] = _duration(column) or _memory(column, is_step)
    return tuple(name if names.count(name) == 1 else "" for name in names)


_TIMES = {4: ("submit", "eligible", "start", "end"), 3: ("submit", "start", "end"), 2: ("start", "end")}


def _duration(column: Cells) -> str:
    if not _all(column, _FRACTION.fullmatch):
        return ""
    return "totalcpu" if any("." in cell for cell in column) else "elapsed"


def _memory(column: Cells, is_step: Sequence[bool]) -> str:
    """Tell a request, which only the job's row has, from what only steps have."""
    if not _all(column, _SIZE.fullmatch):
        return ""
    on_steps = {step for cell, step in zip(column, is_step, strict=True) if cell and cell != "0"}
    if len(on_steps) != 1:
        return ""
    return "maxrss" if True in on_steps else "reqmem"


def _first(columns: Sequence[Cells], matches: Callable[[str], object]) -> int | None:
    return next((place for place, column in enumerate(columns) if _all(column, matches)), None)


def _all(column: Cells, matches: Callable[[str], object]) -> bool:
    filled = [cell for cell in column if not quantity.is_absent(cell)]
    return bool(filled) and all(matches(cell) for cell in filled)
