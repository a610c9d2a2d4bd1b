"""What a recorded training told, read from the run folder's own files and from the commands that show it."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import recorder
from support.commands import jobmeter
from support.recorder import Finished, Record


@dataclass(frozen=True, slots=True)
class Training:
    """A training that is over: its own output, and the recording of it."""

    output: Path
    finished: Finished

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.finished.folder

    def told(self, *, rank: int | None = None) -> dict[int, Record]:
        """Give what the callbacks told: metrics by step, later words over earlier ones."""
        name = "steps.jsonl" if rank is None else f"steps.{rank}.jsonl"
        steps: dict[int, Record] = {}
        for line in recorder.lines(self.folder / name):
            assert line["rank"] == (rank or 0)
            steps[line["step"]] = steps.get(line["step"], {}) | line["metrics"]
        return steps

    def records(self) -> list[int]:
        """Give the steps of the records the callbacks wrote, one by one."""
        return [line["step"] for line in recorder.lines(self.folder / "steps.jsonl")]

    def series(self, metric: str, *, rank: int | None = None) -> dict[int, Any]:
        """Give one metric by step."""
        return {step: told[metric] for step, told in self.told(rank=rank).items() if metric in told}

    def events(self, kind: str, *, rank: int | None = None) -> list[Record]:
        """Give the details of the events of one kind that the callbacks told."""
        name = "events.sdk.jsonl" if rank is None else f"events.{rank}.jsonl"
        return [line["details"] for line in recorder.lines(self.folder / name) if line["type"] == kind]

    def sdk(self, *, rank: int | None = None) -> Record:
        """Merge what the callbacks said of the run itself."""
        merged: Record = {"config": {}, "summary": {}}
        for line in recorder.lines(self.folder / ("sdk.jsonl" if rank is None else f"sdk.{rank}.jsonl")):
            config, summary = line.pop("config", {}), line.pop("summary", {})
            merged |= line
            merged["config"] |= config
            merged["summary"] |= summary
        return merged

    def shown(self) -> Record:
        """Give what `jobmeter show --json` says."""
        answer = jobmeter(self.finished.home, "show", "last", "--json")
        assert answer.code == 0, answer.complaint
        shown: Record = json.loads(answer.out)
        return shown

    def rows(self, path: str) -> list[dict[str, str]]:
        """Read a CSV file the training itself wrote."""
        with (self.output / path).open(newline="") as file:
            return list(csv.DictReader(file))
