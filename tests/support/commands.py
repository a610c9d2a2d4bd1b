"""Run jobmeter as people do: as its own process, into a pipe or on a terminal."""

import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

COMMAND = (sys.executable, "-m", "jobmeter")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed and how it ended."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Decode what came on stdout."""
        return self.out.decode()

    @property
    def complaint(self) -> str:
        """Decode what came on stderr."""
        return self.err.decode()


def record_script(home: Path, script: Path, text: str, *options: str, code: int = 0) -> None:
    """Write a script and record it with this interpreter, sampled often."""
    script.write_text(text)
    often = ("--sample-interval", "0.1s", "--report-interval", "0.1s")
    done = jobmeter(home, "run", "-q", *often, *options, "--", sys.executable, str(script))
    assert done.code == code, done


def environment(home: Path, **more: str) -> dict[str, str]:
    """Make an environment in which runs and index are kept below `home`, in UTC."""
    dropped = ("NO_COLOR", "COLUMNS", "JOBMETER_HOME")
    known = {key: value for key, value in os.environ.items() if key not in dropped}
    here = {
        "JOBMETER_HOME": str(home),
        "XDG_CACHE_HOME": str(home.parent / "cache"),
        "TZ": "UTC",
        "TERM": "xterm",
    }
    return known | here | more


def jobmeter(
    home: Path, *arguments: str | bytes, env: Mapping[str, str] | None = None, stdin: bytes | None = None
) -> Answer:
    """Run one command with its output in pipes."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        env=environment(home, **env or {}),
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


_SEVERAL = """
import json, os, sys, tempfile
from jobmeter.__main__ import main
answers = []
for words in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        kept = os.dup(1), os.dup(2)
        os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code
        sys.stdout.flush(), sys.stderr.flush()
        os.dup2(kept[0], 1), os.dup2(kept[1], 2)
        out.seek(0), err.seek(0)
        answers.append([code, out.read().decode(), err.read().decode()])
print(json.dumps(answers))
"""


def several(home: Path, *lines: Sequence[str]) -> list[Answer]:
    """Run commands that only ask, one after the other in one process: to start it is most of what they take."""
    done = subprocess.run(
        [sys.executable, "-c", _SEVERAL, json.dumps(lines)],
        env=environment(home),
        capture_output=True,
        timeout=60,
        check=True,
    )
    return [Answer(code, out.encode(), err.encode()) for code, out, err in json.loads(done.stdout)]


def jobmeter_on_terminal(
    home: Path, *arguments: str, columns: int = 80, env: Mapping[str, str] | None = None
) -> Answer:
    """Run one command with its stdout on a terminal of so many columns; line ends come as written."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    process = subprocess.Popen(
        [*COMMAND, *arguments], env=environment(home, **env or {}), stdout=theirs, stderr=subprocess.PIPE
    )
    os.close(theirs)
    shown = _read_all(ours)
    _, complained = process.communicate(timeout=60)
    return Answer(process.returncode, shown, complained)


def _read_all(fd: int) -> bytes:
    """Read a terminal until its last writer is gone, which the kernel reports as an error."""
    parts = []
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            part = b""
        if not part:
            os.close(fd)
            return b"".join(parts)
        parts.append(part)
