"""Real DataLoader workers are told from the training loop and from what runs beside it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support import recorder
from support.commands import jobmeter
from support.frameworks import Training

Train = Callable[..., Training]


def roles(folder: Path) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for instance, role in recorder.series(folder, "proc_role"):
        found.setdefault(role, set()).add(int(instance.partition("@")[0]))
    return found


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_two_workers_are_two_workers(train: Train, method: str) -> None:
    training = train("dataloader", method)
    workers = set(json.loads((training.output / "workers.json").read_text()))
    found = roles(training.folder)
    assert len(workers) == 2
    assert found["worker"] == workers
    assert len(found["main"]) == 1
    # the compiler's pool and the resource tracker
    assert len(found["other"]) >= 2
    shown = training.shown()["roles"]
    assert shown["worker"]["processes"] == 2
    # each holds 100 MiB of its own on top of what it shares with the loop
    assert shown["worker"]["memory_peak_bytes"] >= 2 * (100 << 20)
    told = jobmeter(training.finished.home, "show", "last").text
    assert "workers  2 processes, " in told
