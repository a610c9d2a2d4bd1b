"""What a recording leaves behind for its caller."""

import _signal
import os
import sys

from jobmeter.config import home
from jobmeter.recording import guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    Record = dict[str, object]


class Records:
    """What was written about one run."""

    __slots__ = ("context", "end", "headlines", "start")

    def __init__(self, *, start: "Record", context: "Record", end: "Record", headlines: "Record") -> None:
        self.start = start
        self.context = context
        self.end = end
        self.headlines = headlines


class Outcome:
    """The records of a finished run, and how jobmeter itself shall end."""

    __slots__ = ("exit_code", "folder", "interrupted_from_terminal", "records", "started")

    def __init__(
        self, exit_code: int, folder: str | None, records: Records | None, *, started: bool = True
    ) -> None:
        self.exit_code = exit_code
        self.folder = folder
        self.records = records
        """None when not even the end could be written."""
        self.started = started
        """False when exec failed: there never was a job."""
        self.interrupted_from_terminal = False

    def show(self, style: str) -> None:
        """Print the summary on stderr; no summary is no reason to fail."""
        records = self.records
        if style == "none" or not self.started or records is None:
            return
        guard.attempt(
            lambda: _say(_render(style, records, self.folder)),
            lambda error: _say(f"jobmeter: no summary: {error}"),
        )

    def finish(self) -> int:
        """Give the exit code; after a Ctrl-C pass it on to the rest of our group, as the terminal would have."""
        if self.interrupted_from_terminal:
            if sys.stdout is not None:
                sys.stdout.flush()
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
            os.kill(0, _signal.SIGINT)
        return self.exit_code


def _render(style: str, records: Records, folder: str | None) -> str:
    from jobmeter.recording import summarytext

    if style == "json":
        return summarytext.summary_json(records)
    columns = _columns(summarytext.COLUMNS)
    return summarytext.summary_text(records, columns, _steps(folder), _unusual_home(folder))


def _unusual_home(folder: str | None) -> str | None:
    """Name the home of a run that reading commands would not look in by themselves."""
    if folder is None:
        return None
    # a run is kept in HOME/runs/MONTH/RUN
    kept = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
    usual = home.find_home(home.working_directory(), os.environ, None)
    return None if os.path.realpath(usual) == os.path.realpath(kept) else kept


def _steps(folder: str | None) -> dict[str, str]:
    """Say what the job logged through the SDK; most jobs did not."""
    if folder is None or not any(name.startswith("steps") for name in os.listdir(folder)):
        return {}
    from jobmeter.recording import stepstold

    return stepstold.sentences(folder)


def _columns(otherwise: int) -> int:
    """Give the width of the terminal that stderr is."""
    try:
        columns = os.get_terminal_size(2).columns
    except OSError:
        return otherwise
    return min(max(columns, 60), 120) if columns else otherwise


def _say(text: str) -> None:
    try:
        os.write(2, f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        return  # nobody reads our stderr any more
