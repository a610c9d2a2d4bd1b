"""The command that records a job once more: as it was, or with the advice that belongs on it."""

import shlex
from collections.abc import Iterable, Mapping

from jobmeter.config.options import OPTIONS
from jobmeter.model.report import Recommendation
from jobmeter.model.run import Run

_OWN = "jobmeter"
_KEPT = ("sample_interval", "report_interval")
"""Options that stand beside the others in what was recorded."""
_BY_NAME = {option.name: option for option in OPTIONS}


def command(run: Run, advice: Iterable[Recommendation] = ()) -> str | None:
    """Write a line for a shell; None where the run was not recorded by us, or its command is not known."""
    if run.provenance.origin != _OWN or not run.command:
        return None
    words = [_OWN, "run", *_named(run), *_options(_settings(run) | _advised(advice)), "--", *run.command]
    line = shlex.join(words)
    return line if run.cwd is None else f"cd {shlex.quote(run.cwd)} && {line}"


def _named(run: Run) -> list[str]:
    given = [("--name", run.name), ("--project", run.project)]
    return [word for flag, value in given if value for word in (flag, value)]


def _settings(run: Run) -> dict[str, object]:
    told = run.context.get("options")
    options = dict(told) if isinstance(told, Mapping) else {}
    return options | {name: run.context[name] for name in _KEPT if name in run.context}


def _advised(advice: Iterable[Recommendation]) -> dict[str, object]:
    """Take what a recommendation says of an option of ours; the first on it counts."""
    found: dict[str, object] = {}
    for one in advice:
        name = (one.config_path or "").removeprefix("--").replace("-", "_")
        if one.config_path == f"--{name.replace('_', '-')}" and name in _BY_NAME:
            found.setdefault(name, one.recommended_value)
    return found


def _options(settings: Mapping[str, object]) -> list[str]:
    words: list[str] = []
    for name, value in settings.items():
        option = _BY_NAME.get(name)
        if option is None or value is None or value == option.default:
            continue
        flag = option.flags[-1]
        words += [flag] if option.switch else [flag, *_split(value, option.words)]
    return words


def _split(value: object, words: int) -> list[str]:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.split(maxsplit=words - 1) if words > 1 else [text]
