"""Run training scripts that use the SDK, each in a process and a home of its own, and read what they left."""

import json
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.recorder import Home, merged, only_folder, wait_for

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Trained:
    """A training script that is over."""

    code: int
    out: str
    err: str
    home: Path

    @property
    def folder(self) -> Path:
        """The only run folder of the home."""
        return only_folder(self.home)

    @property
    def run(self) -> Record:
        """The merged records of the run, once its recorder has written the end."""
        folder = self.folder
        wait_for(lambda: merged(folder).get("type") == "end")
        return merged(folder)


def script(text: str) -> list[str]:
    """Make a command of a training script."""
    return [sys.executable, "-c", "import jobmeter\n" + textwrap.dedent(text)]


def train(home: Home, text: str, *words: str, code: int | None = 0, **environ: str) -> Trained:
    """Run a training script to its end."""
    done = subprocess.run(
        [*script(text), *words],
        env=home.environ(**environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert code is None or done.returncode == code, done.stderr
    return Trained(done.returncode, done.stdout, done.stderr, home.path)


def whole_lines(path: Path) -> list[Record]:
    """Read a file of the SDK as readers must: it ends at its first NUL byte, and at its last line end."""
    text = path.read_bytes().partition(b"\0")[0]
    return [
        json.loads(line, parse_constant=_no_constant) for line in text[: text.rfind(b"\n") + 1].splitlines()
    ]


def _no_constant(word: str) -> object:
    raise AssertionError(f"{word} is no JSON")


def steps(folder: Path, name: str = "steps.jsonl") -> list[Record]:
    """Give the records of one file of steps; none where there is no file."""
    return whole_lines(folder / name) if (folder / name).exists() else []


def told(folder: Path, kind: str, name: str = "sdk.jsonl") -> list[Record]:
    """Give the records of one type of what the SDK said of itself."""
    return [record for record in whole_lines(folder / name) if record["type"] == kind]
