"""Entry point: commands that record are dispatched before anything heavier is imported."""

import os
import sys

from jobmeter.cli import RECORDING
from jobmeter.errors import JobmeterError, UsageError


def main(argv: list[str]) -> int:
    """Run one jobmeter command and return its exit code."""
    try:
        if argv[:1] and argv[0] in RECORDING:
            return _record(argv[0], argv[1:])
        from jobmeter.cli import dispatch

        return dispatch.main(argv)
    except JobmeterError as error:
        complain(error)
        # whatever stops `run` before the job has begun must not look like the job's own exit code
        return 125 if argv[:1] == ["run"] else error.exit_code
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("jobmeter"):
            raise
        complain(
            UsageError(
                f"the package {error.name} is missing",
                hint=f"pip install '{_bringing(error.name.partition('.')[0])}' brings it",
            )
        )
        return 2
    except KeyboardInterrupt:
        return 130  # before a job began; from then on it is the job's to answer


def _bringing(package: str) -> str:
    """Name what to install for a package: most come with jobmeter itself, some by an extra."""
    extras = {
        "psycopg": "postgres",
        "psycopg_pool": "postgres",
        "pyarrow": "parquet",
        "opentelemetry": "otlp",
    }
    served = ("apprise", "cramjam", "httpx", "litestar", "prometheus_client", "uvicorn", "zstandard")
    extra = extras.get(package, "server" if package in served else "")
    return f"jobmeter[{extra}]" if extra else "jobmeter"


def _record(name: str, argv: list[str]) -> int:
    import gc

    from jobmeter.cli import imports

    imports.hasten()
    # a recorder makes next to no cycles; looking for them would cost more than recording does
    gc.set_threshold(50_000)
    # importlib.import_module would import `warnings` first
    code: int = __import__(RECORDING[name], fromlist=["main"]).main(argv)
    return code


def complain(error: JobmeterError) -> None:
    """Print an expected error: what is wrong, then what to do."""
    print(f"jobmeter: {_tame(str(error))}", file=sys.stderr)
    if error.hint:
        print(f"hint: {_tame(error.hint)}", file=sys.stderr)


def _tame(text: str) -> str:
    """Show what a person typed without letting it speak to the terminal."""
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)


def start() -> None:
    """Run from the command line; after a recording leave without tearing the interpreter down."""
    _hold_standard_descriptors()
    argv = _command_first(sys.argv[1:])
    code = main(argv)
    if argv and argv[0] not in RECORDING:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            continue  # nobody reads it any more
    os._exit(code)


def _command_first(argv: list[str]) -> list[str]:
    """Read `jobmeter --home DIR ls` as `jobmeter ls --home DIR`: many tools take their options there."""
    words = 2 if argv[:1] == ["--home"] else 1 if argv and argv[0].startswith("--home=") else 0
    if not words or len(argv) <= words:
        return argv
    return [argv[words], *argv[:words], *argv[words + 1 :]]


def _hold_standard_descriptors() -> None:
    """Fill what the caller closed of 0, 1 and 2, or a file of ours would get that number and be taken for it."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            # not inherited: the job finds it closed
            os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    # Python has no stream where it found a descriptor closed; what is printed there goes nowhere
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  # lives as long as the process
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115  # as above


if __name__ == "__main__":
    start()
