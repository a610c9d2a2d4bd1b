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
    code = main(sys.argv[1:])
    if sys.argv[1:2] != ["run"]:
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    start()
