"""Advice on what to ask for on one screen: each resource of one job, or one line for each of many jobs."""

from collections.abc import Iterator, Sequence

from jobmeter.cli.render import table
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.cli.render.table import Cell, Column
from jobmeter.model import text, units
from jobmeter.model.sizing import Advice, JobSizing, Resource

UNKNOWN = "-"
_WORTH = 0.1
"""From here on a saving is worth a colour."""
_LABELS = {Resource.MEMORY: "memory", Resource.CPUS: "cpus", Resource.TIME: "time", Resource.GPUS: "gpus"}


def amount(resource: Resource, value: float | None) -> str:
    """Write an amount in the unit people ask in."""
    if value is None:
        return UNKNOWN
    match resource:
        case Resource.MEMORY:
            return units.format_bytes(value)
        case Resource.TIME:
            return units.format_seconds(value).removesuffix(" 00 s")
        case Resource.CPUS | Resource.GPUS:
            return f"{value:.3g}"


def one_job(job: JobSizing, screen: Screen) -> list[str]:
    """Lay one job out: asked, used and advised, how that was learned, and what is not known."""
    plural = "s" if job.runs != 1 else ""
    title = screen.paint(text.clean(job.job), Style.BOLD) + f"  {job.runs} run{plural}"
    if job.input_bytes is not None:
        title += f", input of {units.format_bytes(job.input_bytes)}"
    body = _resources(job, screen) if job.advice else []
    notes = [line for note in _notes(job) for line in text.wrap(note, screen.width)]
    return [title, "", *body, *([""] if body else []), *(screen.paint(line, Style.DIM) for line in notes)]


def _resources(job: JobSizing, screen: Screen) -> list[str]:
    head = [
        Column(title=""),
        Column(title="ASKED", right=True),
        Column(title="TYPICAL", right=True, optional=2),
        Column(title="LARGEST", right=True),
        Column(title="ADVISED", right=True),
        Column(title="SAVES", right=True),
        Column(title="FAILS", right=True),
        Column(title="CONFIDENCE", optional=1),
    ]
    return table.render(head, [_cells(one) for one in job.advice.values()], screen)


def _cells(one: Advice) -> list[Cell]:
    values = (one.asked, one.typical, one.largest)
    return [
        Cell(_LABELS[one.resource]),
        *(Cell(amount(one.resource, value)) for value in values),
        Cell(amount(one.resource, one.advised), Style.BOLD),
        _saving(one),
        Cell(units.format_percent(100 * one.failure_probability)),
        Cell(one.confidence.value),
    ]


def _saving(one: Advice | None) -> Cell:
    share = None if one is None else one.saving
    if share is None:
        return Cell(UNKNOWN)
    if share < 0:
        return Cell("more", Style.WARN)
    return Cell(units.format_percent(100 * share), Style.GOOD if share >= _WORTH else Style.PLAIN)


def _notes(job: JobSizing) -> Iterator[str]:
    for resource, one in job.advice.items():
        low, high = amount(resource, one.low), amount(resource, one.high)
        expected = f"the next run should use {low} to {high}" if low != high else f"every run needed {low}"
        yield f"{_LABELS[resource]}: {one.method}, from {one.runs} runs; {expected}"
    for resource, reason in job.missing.items():
        if resource is not Resource.GPUS or job.advice == {}:
            yield f"{_LABELS[resource]}: {reason}"


def many_jobs(jobs: Sequence[JobSizing], screen: Screen) -> list[str]:
    """Lay jobs out one a line: what memory was asked, used and advised, and the cores and time advised."""
    head = [
        Column(title="JOB", flexible=16),
        Column(title="RUNS", right=True, optional=3),
        Column(title="ASKED", right=True),
        Column(title="LARGEST", right=True),
        Column(title="MEMORY", right=True),
        Column(title="SAVES", right=True),
        Column(title="FAILS", right=True),
        Column(title="CPUS", right=True, optional=1),
        Column(title="TIME", right=True, optional=2),
    ]
    names = short_names([text.clean(job.job) for job in jobs])
    return table.render(head, [_job_cells(job, name) for job, name in zip(jobs, names, strict=True)], screen)


def short_names(names: Sequence[str]) -> list[str]:
    """Cut the scopes of a workflow off the names of its processes, as far as they stay apart."""
    return [_short(name, names) for name in names]


def _short(name: str, names: Sequence[str]) -> str:
    parts = name.split(":")
    for count in range(1, len(parts)):
        tail = ":".join(parts[-count:])
        if not any(other != name and f":{other}".endswith(f":{tail}") for other in names):
            return tail
    return name


def _job_cells(job: JobSizing, name: str) -> list[Cell]:
    memory = job.advice.get(Resource.MEMORY)
    cpus, seconds = (job.advice.get(resource) for resource in (Resource.CPUS, Resource.TIME))
    fails = UNKNOWN if memory is None else units.format_percent(100 * memory.failure_probability)
    return [
        Cell(name),
        Cell(units.format_count(job.runs)),
        Cell(amount(Resource.MEMORY, None if memory is None else memory.asked)),
        Cell(amount(Resource.MEMORY, None if memory is None else memory.largest)),
        Cell(amount(Resource.MEMORY, None if memory is None else memory.advised), Style.BOLD),
        _saving(memory),
        Cell(fails),
        Cell(_advised(cpus)),
        Cell(_advised(seconds)),
    ]


def _advised(one: Advice | None) -> str:
    return UNKNOWN if one is None else amount(one.resource, one.advised)
