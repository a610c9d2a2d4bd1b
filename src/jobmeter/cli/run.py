"""Record a command: what it really used, exactly, at a cost nobody notices."""

import os
import sys

from jobmeter.errors import JobmeterError


def main(argv: list[str]) -> int:
    """Record the command in `argv` and return its exit code."""
    from jobmeter.config import options as settings

    if argv[:1] in (["-h"], ["--help"]):
        print(settings.help_text())
        return 0
    try:
        options, command = settings.parse(argv, os.environ, _working_directory())
        if not command:
            print("jobmeter: no command to run", file=sys.stderr)
            print("hint: jobmeter run [options] [--] COMMAND", file=sys.stderr)
            return 125
        from jobmeter.recording import pipeline

        outcome = pipeline.record(options, command)
        outcome.show("none" if options.quiet else options.summary)
        return outcome.finish()
    except JobmeterError as error:
        print(f"jobmeter: {error}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return 125
    except KeyboardInterrupt:
        return 130  # before the job began; from then on it is the job's to answer


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"  # the folder was removed; the job may still run
