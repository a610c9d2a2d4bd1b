"""What a saved report answers to its own page: the API's answers about one run, by the addresses it is asked at.

The page asks for parts of some (a stretch of a line, some lines of the output); it finds them in the whole. What can
mislead: of a long output only the end and the surroundings of its errors are kept, and of very many lines the first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote

import msgspec

from jobmeter.errors import JobmeterError
from jobmeter.model.log_page import LogLine, LogPage
from jobmeter.model.report import Report
from jobmeter.model.run import Run
from jobmeter.service import analysis, charts, job_apply, log_pages, report_lines, run_context, run_parts
from jobmeter.stores import Store

Answers = dict[str, object]

TAIL_LINES = 1_000
AROUND_BYTES, AROUND_LINES = 4_000, 100
MOST_ERRORS = 40


def address(run: Run) -> str:
    """Say where the API has a run."""
    return f"/api/v1/runs/{quote(run.run_id, safe='')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What a report carries."""

    answers: Answers
    lines_left_out: int
    """Of the charts, where there were too many."""


def gather(store: Store, run: Run) -> Gathered:
    """Collect what the page of a run asks for."""
    at = address(run)
    series, steps = report_lines.series(store, run), report_lines.steps(store, run)
    report = analysis.of_run(store, run)[1]
    found: Answers = {
        at: run_parts.shown(store, run),
        f"{at}/clock": charts.clocks(store, run, report_lines.MOST_POINTS),
        f"{at}/context": run_context.shown(store, run),
        f"{at}/events": run_parts.events(store, run),
        f"{at}/processes": run_parts.processes(store, run),
        f"{at}/report": report.as_record(),
        f"{at}/series": series.answer,
        f"{at}/steps": steps.answer,
    }
    found |= {f"{at}/logs{query}": page for query, page in _output(run, report)}
    return Gathered(
        answers=found | dict(_where_possible(store, run, at)),
        lines_left_out=series.left_out + steps.left_out,
    )


def _where_possible(store: Store, run: Run, at: str) -> Iterator[tuple[str, object]]:
    """Add what not every run has: ranks, and a config that advice can be put into; the page says so itself."""
    run_id = run.run_id
    questions: dict[str, Callable[[], object]] = {
        f"{at}/ranks": lambda: run_parts.ranks(store, run),
        f"POST /api/jobs/{quote(run_id, safe='')}/apply": lambda: job_apply.changed(
            store, run, run_id, job_apply.Wish()
        ),
    }
    for name, ask in questions.items():
        try:
            yield name, ask()
        except JobmeterError:
            continue


def _output(run: Run, report: Report) -> Iterator[tuple[str, object]]:
    """Read the end of every stream, and what stands around its errors; of no stream, why there is none."""
    first = log_pages.page(run, log_pages.Wanted(tail=TAIL_LINES))
    if first.stream is None:
        yield "", msgspec.to_builtins(first)
    for stream in first.streams:
        page = first
        if stream != first.stream:
            page = log_pages.page(run, log_pages.Wanted(stream=stream, tail=TAIL_LINES))
        yield f"?stream={stream}", msgspec.to_builtins(_with_errors(run, page, report))


def _with_errors(run: Run, page: LogPage, report: Report) -> LogPage:
    lines: dict[int, LogLine] = {line.offset: line for line in page.lines}
    for error in report.log_errors[:MOST_ERRORS]:
        offset = error.offset
        if error.stream != page.stream or offset is None or offset >= page.begin:
            continue
        around = log_pages.Wanted(
            stream=page.stream, offset=max(0, offset - AROUND_BYTES), limit=AROUND_LINES
        )
        lines |= {line.offset: line for line in log_pages.page(run, around).lines}
    return replace(page, lines=tuple(lines[offset] for offset in sorted(lines)))
