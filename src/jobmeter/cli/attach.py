"""Record a job that already runs, by its pid; the job itself is left alone."""

import os

from jobmeter.cli import run
from jobmeter.errors import RecordError, UsageError


def main(argv: list[str]) -> int:
    """Attach to the pid at the end of `argv` until it ends or Ctrl-C."""
    from jobmeter.config import options as settings
    from jobmeter.recording import attach

    if argv[:1] in (["-h"], ["--help"]):
        print(settings.help_text("attach [options] PID", __doc__ or ""))
        return 0
    try:
        options, words = settings.parse(argv, os.environ, run.working_directory())
        if len(words) != 1 or not words[0].isdecimal():
            raise UsageError("attach needs one pid", hint="jobmeter attach [options] PID")
        outcome = attach.attach(options, int(words[0]))
    except RecordError as error:
        # 125 stands among the exit codes of a job, and here is none
        raise UsageError(str(error), hint=error.hint) from None
    outcome.show("none" if options.quiet else options.summary)
    return 0
