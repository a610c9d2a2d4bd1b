"""Entry point: `run` is dispatched before anything heavier is imported."""

import os
import sys


def main(argv: list[str]) -> int:
    """Run one jobmeter command and return its exit code."""
    if argv and argv[0] == "run":
        import gc

        # a recorder makes next to no cycles; looking for them would cost more than recording does
        gc.set_threshold(50_000)
        from jobmeter.cli import run

        return run.main(argv[1:])
    from jobmeter.cli import dispatch

    return dispatch.main(argv)


def start() -> None:
    """Run from the command line; after a recording leave without tearing the interpreter down."""
    _hold_standard_descriptors()
    code = main(sys.argv[1:])
    if sys.argv[1:2] != ["run"]:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            continue  # nobody reads it any more
    os._exit(code)


def _hold_standard_descriptors() -> None:
    """Fill what the caller closed of 0, 1 and 2, or a file of ours would get that number and be taken for it."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            # not inherited: the job finds it closed
            os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)


if __name__ == "__main__":
    start()
