"""A run's page as one file to hand around: the frame that the build of the page left, filled with the API's answers.

What a job is called, prints and is configured with enters as packed JSON, which no browser reads as a page, or escaped;
what looks like a secret leaves replaced, as everywhere where text leaves the machine. The policy in the head lets
nothing run but the page's own script and nothing be loaded, whatever slipped through.
"""

import base64
import gzip
import os
import re
import time
from html import escape
from pathlib import Path

import jobmeter
from jobmeter.config import redaction
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.model.moments import iso_time
from jobmeter.model.run import Run
from jobmeter.service import live, report_answers, runs

FRAME = Path(jobmeter.__file__).with_name("web") / "dist" / "report.html"
_SLOT = re.compile(r"@@(title|plain|answers)@@")


def render(home: str, ref: str, *, frame: Path = FRAME) -> str:
    """Write the page of a run; a log without one has nothing to draw."""
    if ref != runs.LAST and os.path.isfile(ref):
        raise UsageError(
            f"{ref} is a file: a report is written of a run",
            hint=f"jobmeter analyze {ref}, or import it first",
        )
    try:
        empty = frame.read_text("utf-8")
    except FileNotFoundError:
        raise UsageError(
            "the page was not built, and a report is made of it",
            hint=f"scripts/page builds it, with Node.js 20; jobmeter analyze {ref} tells the same in the terminal",
        ) from None
    run, gathered = runs.ask(home, ref, lambda store, run: (run, report_answers.gather(store, run)))
    return _filled(empty, run, gathered)


def _filled(frame: str, run: Run, gathered: report_answers.Gathered) -> str:
    at = report_answers.address(run)
    safe = {name: _redacted(answer) for name, answer in gathered.answers.items()}
    kept = {
        "run_id": run.run_id,
        "made_by": f"jobmeter {jobmeter.__version__}",
        "made_at": iso_time(time.time()),
        "lines_left_out": gathered.lines_left_out,
        "answers": safe,
    }
    packed = gzip.compress(live.as_json(kept), mtime=0)
    parts = {
        "title": escape(_redacted_line(run.name or text.command_line(run.command) or run.run_id)),
        "plain": _plain(safe[f"{at}/report"]),
        "answers": base64.b64encode(packed).decode(),
    }
    # one pass: a name that reads @@answers@@ stays the name it is
    return _SLOT.sub(lambda found: parts[found[1]], frame)


def _plain(report: object) -> str:
    """Say the most important to those whose reader runs no script."""
    verdict = report.get("verdict") if isinstance(report, dict) else None
    sentence = verdict.get("sentence") if isinstance(verdict, dict) else None
    told = f"<p>{escape(sentence)}</p>" if isinstance(sentence, str) else ""
    return f"{told}<p>The rest of this report needs JavaScript.</p>"


def _redacted(value: object) -> object:
    if isinstance(value, str):
        return redaction.redact_text(value)
    if isinstance(value, dict):
        return {key: _redacted(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        # points of a line: thousands of numbers, none of which is a secret
        is_text = any(not isinstance(one, int | float | None) for one in value)
        return [_redacted(one) for one in value] if is_text else value
    return value


def _redacted_line(words: str) -> str:
    return redaction.redact_text(" ".join(words.split()))
