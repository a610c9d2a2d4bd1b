"""Ask `jobmeter analyze` what went wrong with a job that was recorded."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import commands
from support.recorder import Finished, Home


@dataclass(frozen=True, slots=True)
class Said:
    """What analysis says of a run."""

    report: dict[str, Any]
    finished: Finished

    @property
    def cause(self) -> str:
        """The verdict in a word."""
        cause: str = self.report["verdict"]["cause"]
        return cause

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        sentence: str = self.report["verdict"]["sentence"]
        return sentence

    @property
    def confidence(self) -> float:
        """How sure it is."""
        return float(self.report["verdict"]["confidence"])

    @property
    def sources(self) -> list[str]:
        """Where the evidence stands."""
        return [one["source"] for one in self.report["verdict"]["evidence"]]

    @property
    def alarming(self) -> list[str]:
        """The detectors that warn of something."""
        return [one["detector"] for one in self.report["findings"] if one["severity"] != "info"]

    def action(self, rule: str) -> str:
        """Give what the only advice of a rule asks for."""
        (found,) = [one for one in self.report["recommendations"] if one["rule"] == rule]
        return str(found["action"])

    def finding(self, detector: str) -> dict[str, Any]:
        """Give the only finding of a detector."""
        (found,) = [one for one in self.report["findings"] if one["detector"] == detector]
        return dict(found)


def analyse(finished: Finished) -> Said:
    """Analyse the only run of a home."""
    told = commands.jobmeter(finished.home, "analyze", "last", "--json")
    assert told.code == 0, told.complaint
    return Said(json.loads(told.text), finished)


def provoke(home: Home, *words: str, seconds: float = 60, **popen: Any) -> Said:
    """Record a job to its end, all it says kept, and analyse it."""
    return analyse(home.run("-q", "--capture", "all", *words, seconds=seconds, **popen))


def inside(*files: Path | str) -> Any:
    """Make what puts a process into cgroups between fork and exec."""

    def join() -> None:
        for file in files:
            Path(file, "cgroup.procs").write_text("0")

    return join
