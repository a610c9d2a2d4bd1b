"""A directory with a home of its own, to use `jobmeter duct` in."""

import json
import os
import subprocess
import sys
from pathlib import Path

JOBMETER = [sys.executable, "-m", "jobmeter", "duct"]
Record = dict[str, object]


class Desk:
    """A directory of its own, with its own home, to run things in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.environ = {key: value for key, value in os.environ.items() if not key.startswith("DUCT_")}
        self.environ |= {"JOBMETER_HOME": str(self.home), "DUCT_CONFIG_PATHS": str(folder / "none.env")}

    def duct(self, *words: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*JOBMETER, *words],
            cwd=self.folder,
            env=self.environ | variables,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*JOBMETER, *words],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def files(self, prefix: str = "x_") -> list[str]:
        return sorted(path.name.removeprefix(prefix) for path in self.folder.glob(f"{prefix}*"))

    def info(self, prefix: str = "x_") -> Record:
        found: Record = json.loads((self.folder / f"{prefix}info.json").read_text())
        return found

    def summary(self, prefix: str = "x_") -> Record:
        found = self.info(prefix)["execution_summary"]
        assert isinstance(found, dict)
        return found

    def usage(self, prefix: str = "x_") -> list[Record]:
        return [json.loads(line) for line in (self.folder / f"{prefix}usage.jsonl").read_text().splitlines()]

    def commands(self, prefix: str = "x_") -> dict[str, str]:
        """Command by pid, over all lines."""
        return {
            pid: process["cmd"]
            for line in self.usage(prefix)
            for pid, process in line["processes"].items()  # type: ignore[attr-defined]  # plain JSON
        }

    def runs(self) -> list[Path]:
        return sorted(self.home.glob("runs/*/*"))
