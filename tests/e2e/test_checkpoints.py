"""Checkpoints on disk become events of the run that wrote them."""

import sys
from pathlib import Path

from support.recorder import Home, events

TRAIN = """
import pathlib, time
for step in (100, 200):
    folder = pathlib.Path("out", f"checkpoint-{step}")
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"x" * step)
    time.sleep(5.1)
"""


def test_a_training_leaves_its_checkpoints_in_the_events(home: Home, tmp_path: Path) -> None:
    done = home.run("-q", sys.executable, "-c", TRAIN, cwd=tmp_path)
    assert done.code == 0
    found = [event["details"] for event in events(done.folder, "checkpoint")]
    assert [(one["step"], one["bytes"]) for one in found] == [(100, 100), (200, 200)]
    assert found[0]["path"] == str(tmp_path / "out" / "checkpoint-100")
