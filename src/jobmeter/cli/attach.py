"""Record a job that already runs, by its pid; the job itself is left alone."""

import os

from jobmeter.errors import UsageError


def main(argv: list[str]) -> int:
    """Attach to the pid at the end of `argv` until it ends or Ctrl-C."""
    from jobmeter.config import home
    from jobmeter.config import options as settings
    from jobmeter.recording import attach

    if argv[:1] in (["-h"], ["--help"]):
        print(settings.help_text("attach [options] PID", __doc__ or ""))
        return 0
    options, words = settings.parse(argv, os.environ, home.working_directory())
    if len(words) != 1 or not words[0].isdecimal():
        raise UsageError("attach needs one pid", hint="jobmeter attach [options] PID")
    outcome = attach.attach(options, int(words[0]))
    outcome.show("none" if options.quiet else options.summary)
    return 0
