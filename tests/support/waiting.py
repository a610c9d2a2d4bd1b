"""A recorded job that does nothing until it is told to end."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from support import commands

_SCRIPT = "import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.05)\n"


@contextmanager
def waiting(home: Path, name: str) -> Iterator[Callable[[], None]]:
    """Record such a job; what is given lets it end and waits until it is recorded."""
    with tempfile.TemporaryDirectory() as folder:
        go = Path(folder, "go")
        words = [*commands.COMMAND, "run", "-q", "--name", name, "--", sys.executable, "-c", _SCRIPT, str(go)]
        with subprocess.Popen(words, env=commands.environment(home)) as process:

            def finish() -> None:
                go.touch()
                assert process.wait(30) == 0

            try:
                yield finish
            finally:
                go.touch()
