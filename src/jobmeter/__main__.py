"""Entry point: `run` is dispatched before anything heavier is imported."""

import sys


def main(argv: list[str]) -> int:
    """Run one jobmeter command and return its exit code."""
    if argv and argv[0] == "run":
        from jobmeter.cli import run

        return run.main(argv[1:])
    from jobmeter.cli import dispatch

    return dispatch.main(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
