"""Every error a person can meet: a sentence of fact, a hint that repairs it, an exit code."""


class JobmeterError(Exception):
    """Base of all expected errors; anything else that escapes is a bug."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(JobmeterError):
    """What was asked for cannot be: unknown option, key, run, filter or file."""


class UnknownError(UsageError):
    """There is no such run, series, file or other thing; a server answers 404."""


class RecordError(JobmeterError):
    """The recorder could not begin; the job was not started. From `run` the exit code is 125."""


class StoreError(JobmeterError):
    """The index cannot be opened, read or written."""


def reason_of(error: OSError) -> str:
    """Say why the system refused, in the words that follow a colon."""
    return (error.strerror or str(error)).lower()
