"""Checkpoints as training tools name and lay them."""

import os
import time
from pathlib import Path

import pytest

from jobmeter.recording import checkpoints


def write(path: Path, size: int, written_at: float | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    if written_at is not None:
        os.utime(path, (written_at, written_at))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("checkpoint-800/model.safetensors", 800),
        ("global_step1200/mp_rank_00_model_states.pt", 1200),
        ("iter_0000500/model_optim_rng.pt", 500),
        ("lightning_logs/version_0/checkpoints/epoch=1-step=64.ckpt", 64),
        ("lora_000000250.safetensors", 250),
        ("ckpt_10.pth", 10),
        ("weights/best.pt", None),
    ],
)
def test_it_is_found_with_its_step(tmp_path: Path, name: str, step: int | None) -> None:
    write(tmp_path / name, 7)
    (found,) = checkpoints.find([str(tmp_path)], time.time() - 5, seconds=10)
    assert (found.step, found.size_bytes) == (step, 7)
    assert str(tmp_path / name).startswith(found.path)


@pytest.mark.parametrize(
    "name", ["data.bin", "train.py", ".cache/model.pt", "site-packages/torch/model.pt", "notes/x.pt"]
)
def test_other_files_are_none(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, 7)
    assert checkpoints.find([str(tmp_path)], time.time() - 5, seconds=10) == []


def test_an_earlier_run_left_some(tmp_path: Path) -> None:
    now = time.time()
    write(tmp_path / "checkpoint-1/model.pt", 3, now - 900)
    os.utime(tmp_path / "checkpoint-1", (now - 900, now - 900))
    write(tmp_path / "model-2.pt", 3, now - 900)
    write(tmp_path / "model-3.pt", 3, now)
    assert [one.step for one in checkpoints.find([str(tmp_path)], now - 60, seconds=10)] == [3]


def test_a_folder_named_twice_gives_each_once(tmp_path: Path) -> None:
    write(tmp_path / "out" / "step_5" / "a.pt", 3)
    command = ["python", "train.py", "--output_dir", "out", "--save-dir=out", "--lr", "1"]
    places = checkpoints.roots(command, str(tmp_path))
    assert places == [str(tmp_path / "out"), str(tmp_path)]
    assert [one.details()["step"] for one in checkpoints.find(places, 0.0, seconds=10)] == [5]


def test_a_place_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert checkpoints.find([str(tmp_path / "nowhere")], 0.0) == []
    assert checkpoints.roots(["x"], "") == []


def test_a_folder_of_very_many_files_is_looked_at_in_part(tmp_path: Path) -> None:
    for number in range(4100):
        (tmp_path / f"sample-{number}.pt").touch()
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "model.pt").touch()
    found = checkpoints.find([str(tmp_path)], 0.0, seconds=10)
    assert len(found) == 1000
    assert "later" not in {os.path.basename(os.path.dirname(one.path)) for one in found}


def test_a_checkpoint_of_too_many_files_has_no_size(tmp_path: Path) -> None:
    for number in range(1001):
        write(tmp_path / "step_3" / f"shard{number}.bin", 2)
    (found,) = checkpoints.find([str(tmp_path)], 0.0, seconds=10)
    assert found.details() == {"path": str(tmp_path / "step_3"), "step": 3, "clock": "modification time"}


def test_looking_ends_in_time(tmp_path: Path) -> None:
    for number in range(50):
        write(tmp_path / f"d{number}" / "model-1.pt", 1)
    assert checkpoints.find([str(tmp_path)], 0.0, seconds=0.0) == []
