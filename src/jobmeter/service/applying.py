"""Advice written into the job's own config: the file as it was, with other values, and what could not be placed."""

import difflib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jobmeter.analysis.rules import RULES
from jobmeter.errors import UsageError, reason_of
from jobmeter.model.report import Recommendation, Report
from jobmeter.service import editing, whole_files

_LARGEST_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What became of a config."""

    path: str
    """Where the new one was written."""
    changed: tuple[Recommendation, ...]
    skipped: tuple[tuple[Recommendation, str], ...]
    """Advice without a place in the file, and why."""
    diff: str

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        return {
            "path": self.path,
            "applied": [_place(advice) for advice in self.changed],
            "skipped": [
                {"rule": advice.rule, "config_path": advice.config_path, "reason": reason}
                for advice, reason in self.skipped
            ],
            "diff": self.diff,
        }


def _place(advice: Recommendation) -> dict[str, object]:
    names = ("rule", "config_path", "current_value", "recommended_value")
    return {name: getattr(advice, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The text of a config with advice in it."""

    text: str
    changed: tuple[Recommendation, ...]
    skipped: tuple[tuple[Recommendation, str], ...]


def apply(report: Report, config: str, new: str, *, only: Sequence[str] = ()) -> Applied:
    """Write a config with the advice of a report in it; of two that change the same setting the first counts."""
    _check(only)
    text = _read(config)
    made = change_text(report, config, text, only=only)
    if not made.changed:
        raise UsageError(f"no advice has a place in {config}", hint=_hint(made.skipped))
    _write(config, new, made.text)
    return Applied(
        path=new, changed=made.changed, skipped=made.skipped, diff=_diff(text, made.text, config, new)
    )


def served(report: Report, name: str, text: str, *, only: Sequence[str] = ()) -> dict[str, object]:
    """Give a config with the advice in it as a server does: nothing is written, no advice is no error."""
    _check(only)
    made = change_text(report, name, text, only=only)
    applied = Applied(
        path=name, changed=made.changed, skipped=made.skipped, diff=_diff(text, made.text, name, name)
    )
    return {"config": made.text, **applied.as_record()}


def change_text(report: Report, name: str, text: str, *, only: Sequence[str] = ()) -> Changed:
    """Put the advice of a report into the text of a config; its name tells the format."""
    editor = editing.editor_for(Path(name), text)
    changed: list[Recommendation] = []
    skipped: list[tuple[Recommendation, str]] = []
    made = text
    for advice in report.recommendations:
        if only and advice.rule not in only:
            continue
        reason = _reason(advice, changed)
        if reason is None:
            try:
                made = editor.change(made, str(advice.config_path), advice.recommended_value)
            except editing.NotThereError as error:
                reason = str(error)
        if reason is None:
            changed.append(advice)
        else:
            skipped.append((advice, reason))
    return Changed(text=made, changed=tuple(changed), skipped=tuple(skipped))


def _check(only: Sequence[str]) -> None:
    unknown = [rule for rule in only if rule not in RULES]
    if unknown:
        raise UsageError(f"no rule is called {unknown[0]}", hint=f"rules are {', '.join(RULES)}")


def _reason(advice: Recommendation, changed: Sequence[Recommendation]) -> str | None:
    """Say why an advice is not for a file; None where it is."""
    if advice.config_path is None or advice.recommended_value is None:
        return "it is not a setting"
    if any(other.config_path == advice.config_path for other in changed):
        return "another advice on the same setting comes first"
    return None


def _hint(skipped: Sequence[tuple[Recommendation, str]]) -> str:
    if not skipped:
        return "jobmeter analyze RUN says what it advises"
    return "; ".join(f"{advice.rule}: {reason}" for advice, reason in skipped)


def _read(config: str) -> str:
    try:
        with open(config, "rb") as file:
            raw = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"cannot read {config}: {reason_of(error)}", hint="name the config of the job"
        ) from error
    if len(raw) > _LARGEST_BYTES:
        raise UsageError(f"{config} is too large for a config", hint="name the config of the job")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{config} is no text", hint="name the config of the job") from error
    return text


def _write(config: str, new: str, text: str) -> None:
    """Put the new text in place whole; a new file gets the mode of the old one."""
    mode = stat.S_IMODE(os.stat(config).st_mode)
    with whole_files.writing(Path(new), mode=mode) as file:
        file.write(text.encode())


def _diff(before: str, after: str, config: str, new: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), fromfile=config, tofile=new
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
