"""What happened to a run, why, and what to change: computed once, kept with the run, computed anew when needed.

A report is kept in the index with a digest of the rules and one of what they were shown. It is computed again
when either is another: a new version, more bytes, a tag, an earlier run that was imported since. Runs that go
on are looked at anew every time. What can mislead: a view that comes with a kept report has no series.
"""

import dataclasses
import hashlib
import os
from pathlib import Path

import msgspec

from jobmeter.errors import StoreError
from jobmeter.model.report import Report
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.view import RunView
from jobmeter.service import analysis_view, notices, references, rules_digest, runs
from jobmeter.stores import Store, StoredReport, documents

_WRONG = frozenset((Status.FAILED, Status.KILLED))
_LOOKED_BACK = 5
"""Earlier runs that may have been advised on: older advice is about another job by now."""
_KEEP_SECONDS = 0.5
"""Whoever asks does not wait longer for the index than this: the next one can compute it too."""


def analyze(home: str, ref: str, *, warn: notices.Warn = notices.to_stderr) -> tuple[RunView, Report]:
    """Analyse a run, a job by its name, or a log without a run."""
    # a pipe such as <(kubectl logs x) is a log too
    if ref == references.STDIN or (ref != references.LAST and os.path.exists(ref) and not os.path.isdir(ref)):
        from jobmeter.service import log_analysis

        return log_analysis.analyze(Path(ref))
    return runs.ask(home, ref, lambda store, run: of_run(store, _speaker(store, run, ref)), warn=warn)


def at_a_glance(
    home: str, ref: str, *, warn: notices.Warn = notices.to_stderr
) -> tuple[RunView, Report | None]:
    """Show a run with its report where one is kept or the run went wrong: others are not worth the wait."""
    return runs.ask(home, ref, glance, warn=warn)


def glance(store: Store, run: Run) -> tuple[RunView, Report | None]:
    """Look at a run that is found already."""
    view = runs.view_of(store, run, frozenset())
    if run.status in _WRONG:
        return view, of_run(store, run)[1]
    known = analysis_view.facts(store, run)
    return view, _kept(store, known, _inputs(store, known))


def of_run(store: Store, run: Run) -> tuple[RunView, Report]:
    """Give a run's report: the one that is kept while it is valid."""
    known = analysis_view.facts(store, run)
    inputs = _inputs(store, known)
    kept = _kept(store, known, inputs)
    if kept is not None:
        return analysis_view.light(store, known), kept
    from jobmeter.analysis import engine

    view = analysis_view.whole(store, known)
    report = _with_followed(store, view, engine.examine(view))
    if run.status not in LIVE:
        _keep(store, run.run_id, inputs, report)
    return view, report


def _with_followed(store: Store, view: RunView, report: Report) -> Report:
    """Add what came of advice on the newest earlier run that had other settings."""
    from jobmeter.analysis import engine, followup

    for earlier in view.history[:_LOOKED_BACK]:
        if not followup.differs(earlier, view.run):
            continue
        whole = store.run(earlier.run_id)
        if whole is None:
            continue
        advised = engine.examine(
            analysis_view.whole(store, analysis_view.facts(store, whole))
        ).recommendations
        return dataclasses.replace(report, followed=followup.followed(view, earlier, advised))
    return report


def _speaker(store: Store, run: Run, ref: str) -> Run:
    """Choose who speaks for a job asked for by its name: who went wrong first, else the lowest rank."""
    if ref != run.job_id or ref == run.run_id:
        return run
    together = [run, *analysis_view.facts(store, run).beside]
    wrong = [one for one in together if one.status in _WRONG and one.ended_at is not None]
    if wrong:
        chosen = min(wrong, key=lambda one: (one.ended_at or 0.0, one.run_id))
    else:
        chosen = min(together, key=lambda one: (one.ranks or (0,), one.run_id))
    return store.run(chosen.run_id) or run


def _inputs(store: Store, known: analysis_view.Facts) -> str:
    """Hash what a report would be made of."""
    made = hashlib.sha256(documents.encode_brief(known.run))
    for run in (known.run, *known.beside):
        positions = sorted(
            (file, at.offset, at.bad_lines) for file, at in store.positions(run.run_id).items()
        )
        made.update(msgspec.json.encode([positions, _sizes(run)]))
    for other in known.siblings:
        made.update(documents.encode_brief(other))
    made.update(" ".join(other.run_id for other in known.history).encode())
    return made.hexdigest()


def _sizes(run: Run) -> list[int | None]:
    """Look how large the files of the user's own are that hold the job's output: they may be cut or gone."""
    return [_size(output.path) for output in run.outputs if output.mode == "inherited"]


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None  # gone: the report is another then


def _kept(store: Store, known: analysis_view.Facts, inputs: str) -> Report | None:
    stored = store.report(known.run.run_id) if known.run.status not in LIVE else None
    if stored is None or (stored.rules, stored.inputs) != (rules_digest.digest(), inputs):
        return None
    try:
        return msgspec.json.decode(stored.document, type=Report)
    except ValueError:
        return None  # written by rules that say more than this version can read


def _keep(store: Store, run_id: str, inputs: str, report: Report) -> None:
    stored = StoredReport(
        rules=rules_digest.digest(),
        inputs=inputs,
        document=documents.encode(report),
        cause=report.verdict.cause.value,
    )
    try:
        with store.writing(_KEEP_SECONDS):
            store.put_report(run_id, stored)
    except StoreError:
        return  # locked, full or of a newer version: it is computed again next time
