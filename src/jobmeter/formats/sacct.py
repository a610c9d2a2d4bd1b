"""What `sacct` prints: parsable (`|`, tabs, commas) with or without a header, and the table for people.

What misleads: a table cuts its cells (`pbe_fe_2_+`, `1933171.ext+`); without a header the columns are told by
their shape, which is said in the run; rows without a job id are still jobs, one each.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import jobrecord, monitorlog, quantity, sacct_columns, slurm_fold, slurm_keys
from jobmeter.model.imported import Imported

ORIGIN = "sacct"
_RULE = re.compile(r"\s*-{3,}(?:\s+-{3,})+\s*")
_CUT = "+"
_HEAD_LINES = 40
_FEWEST_FIELDS = 3

Rows = Iterator[tuple[slurm_fold.Row, str]]


def sniff(head: bytes, _name: str) -> float:
    """Claim a header of sacct's own field names, a table of them, or rows that are shaped like jobs."""
    lines = [line for line in monitorlog.head_text(head).split("\n")[:_HEAD_LINES] if line.strip()]
    if not lines:
        return 0.0
    if _delimiter(lines[0]) is not None:
        return 0.95
    if any(_is_table(first, second) for first, second in pairwise(lines)):
        return 0.9 if _is_table(*lines[:2]) else 0.5
    whole = lines[:-1] if len(head) >= sacct_columns.WHOLE_HEAD_BYTES and len(lines) > 1 else lines
    return 0.85 if sacct_columns.infer(line.split("|") for line in whole) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per job, its steps folded in."""
    lines = [line for line in monitorlog.text_lines(path) if line.strip()]
    if not lines:
        raise UsageError(f"{path.name} holds no jobs", hint="give what sacct printed")
    inexact: dict[str, str] = {}
    delimiter = _delimiter(lines[0])
    if delimiter is not None:
        rows = _parsable(lines[1:], [_word(cell) for cell in lines[0].split(delimiter)], delimiter)
    elif any(_is_table(first, second) for first, second in pairwise(lines)):
        rows = tables(lines)
    else:
        names = sacct_columns.infer(line.split("|") for line in lines)
        if names is None:
            raise UsageError(f"{path.name} has no columns that tell a job", hint="keep the header of sacct")
        inexact["columns"] = "the file has no header: columns are told by their shape"
        rows = _parsable(lines, names, "|")
    jobs = [slurm_fold.job(members, text, inexact) for members, text in slurm_fold.group(rows)]
    return jobrecord.imported(
        path, jobs, format=ORIGIN, tool=slurm_keys.TOOL, definitions=slurm_keys.DEFINITIONS
    )


def _delimiter(line: str) -> str | None:
    """Find what separates a header of sacct's own names."""
    for delimiter in ("|", "\t", ",", ";"):
        words = [_word(cell) for cell in line.split(delimiter) if cell.strip()]
        known = [word for word in words if word in sacct_columns.NAMES]
        if len(words) >= _FEWEST_FIELDS and len(known) * 4 >= len(words) * 3:
            distinct = sacct_columns.OWN_NAMES.intersection(known)
            if len(distinct) >= 2:
                return delimiter
    return None


def _word(cell: str) -> str:
    """Strip a header cell; `JobName%30` asks for a width."""
    return cell.strip().strip('"').partition("%")[0].lower()


def _parsable(lines: Iterable[str], names: Sequence[str], delimiter: str) -> Rows:
    for line in lines:
        cells = line.split(delimiter)
        if len(cells) < min(len(names), _FEWEST_FIELDS):
            continue  # torn off at the end of a cut file
        row = _row(names, cells)
        # a cut last line may break inside any cell: without its state it is no job
        if row.get("state") or row.get("jobid"):
            yield row, line


def _row(names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    pairs = zip(names, cells, strict=False)
    row = {name: cell.strip().strip('"') for name, cell in pairs if not quantity.is_absent(cell.strip('"'))}
    if "jobid" not in row and "jobidraw" in row:
        row["jobid"] = row["jobidraw"]
    return row


def _is_table(first: str, second: str) -> bool:
    words = [_word(word) for word in first.split()]
    return bool(_RULE.fullmatch(second)) and sum(word in sacct_columns.NAMES for word in words) >= 2


def tables(lines: Sequence[str]) -> Rows:
    """Read every table in a text by the widths of its rule."""
    for number, line in enumerate(lines[:-1]):
        if not _is_table(line, lines[number + 1]):
            continue
        spans = [found.span() for found in re.finditer(r"-+", lines[number + 1])]
        names = [_word(line[start:end]) for start, end in spans]
        for row_line in islice(lines, number + 2, None):
            cells = [row_line[start:end].strip() for start, end in spans]
            if _RULE.fullmatch(row_line) or not _is_row(dict(zip(names, cells, strict=True))):
                break
            yield {k: v for k, v in _row(names, cells).items() if v != _CUT}, row_line


def _is_row(cells: dict[str, str]) -> bool:
    job_id = cells.get("jobid")
    if job_id is not None:
        return slurm_keys.JOB_ID.fullmatch(job_id) is not None
    return bool(slurm_keys.state_word(cells.get("state", "")))
