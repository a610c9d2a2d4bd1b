"""Record a command: what it really used, exactly, at a cost nobody notices."""

import os

from jobmeter.errors import RecordError


def main(argv: list[str]) -> int:
    """Record the command in `argv` and return its exit code."""
    from jobmeter.config import home
    from jobmeter.config import options as settings

    if argv[:1] in (["-h"], ["--help"]):
        print(settings.help_text())
        return 0
    options, command = settings.parse(argv, os.environ, home.working_directory())
    if not command:
        raise RecordError("no command to run", hint="jobmeter run [options] [--] COMMAND")
    from jobmeter.recording import pipeline

    outcome = pipeline.record(options, command)
    outcome.show("none" if options.quiet else options.summary)
    return outcome.finish()
