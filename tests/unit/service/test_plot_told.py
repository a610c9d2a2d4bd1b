"""What a plot asks beside the series: metrics of the best source, every rank of them, numbers of devices."""

import json
from pathlib import Path

import pytest
from tests.support import folders

from jobmeter.model.view import RunView
from jobmeter.service import plot_told, plot_view
from jobmeter.service.plot_source import Told


def write_steps(folder: Path, rank: int | None, rows: list[dict[str, float]]) -> None:
    name = "steps.jsonl" if rank is None else f"steps.{rank}.jsonl"
    lines = [
        {
            "timestamp": folders.iso(folders.STARTED + step),
            "step": step,
            "rank": rank or 0,
            "source": "sdk",
            "metrics": metrics,
        }
        for step, metrics in enumerate(rows, 1)
    ]
    (folder / name).write_text("".join(json.dumps(one) + "\n" for one in lines))


def told(home: Path, *keys: str) -> Told:
    view = plot_view.view(str(home), "last", keys)
    return plot_told.of_run(str(home), "last", view, keys)


def read(found: Told) -> list[tuple[str, str, int]]:
    return [(one.quantity, one.series.metric, one.series.rank) for one in found.metrics]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folders.write_run(tmp_path, seconds=5)


def test_a_run_without_steps_told_nothing(folder: Path, tmp_path: Path) -> None:
    assert told(tmp_path) == Told()


def test_the_usual_metrics_are_read_and_no_others(folder: Path, tmp_path: Path) -> None:
    write_steps(folder, None, [{"train/loss": 2.0, "learning_rate": 1e-4, "odd": 7.0}] * 3)
    found = told(tmp_path)
    assert read(found) == [("loss", "train/loss", 0), ("lr", "learning_rate", 0)]
    assert found.names == ("learning_rate", "odd", "train/loss")


def test_every_rank_is_read_the_lowest_first(folder: Path, tmp_path: Path) -> None:
    for rank in (2, 0, 1):
        write_steps(folder, rank, [{"loss": 2.0}] * 3)
    assert read(told(tmp_path)) == [("loss", "loss", 0), ("loss", "loss", 1), ("loss", "loss", 2)]


def test_a_rank_that_did_not_log_a_metric_is_passed_over(folder: Path, tmp_path: Path) -> None:
    write_steps(folder, 0, [{"loss": 2.0, "lr": 0.1}] * 3)
    write_steps(folder, 1, [{"loss": 2.0}] * 3)
    assert read(told(tmp_path)) == [("loss", "loss", 0), ("loss", "loss", 1), ("lr", "lr", 0)]


def test_a_metric_is_asked_for_by_its_quantity_or_by_its_name(folder: Path, tmp_path: Path) -> None:
    write_steps(folder, None, [{"train/loss": 2.0, "odd": 7.0}] * 3)
    assert read(told(tmp_path, "loss", "odd")) == [("loss", "train/loss", 0), ("odd", "odd", 0)]


def test_ranks_beyond_what_can_be_seen_are_counted(folder: Path, tmp_path: Path) -> None:
    for rank in range(66):
        write_steps(folder, rank, [{"loss": 2.0}] * 2)
    found = told(tmp_path)
    assert (len(found.metrics), found.ranks_left_out) == (64, 2)


def with_devices(tmp_path: Path, numbers: dict[str, str]) -> RunView:
    rows = [
        folders.definition("nvml_util", "gauge", "percent", "device"),
        folders.definition("nvml_index", "label", "none", "device"),
    ]
    folder = folders.write_run(tmp_path, seconds=3, context={"measurements": rows})
    usage = [
        {
            "timestamp": folders.iso(folders.STARTED + second),
            "num_samples": 1,
            "clock": {"nvml": [folders.CLOCK, folders.CLOCK + second]},
            "measurements": {
                "nvml_util": dict.fromkeys(numbers, 90),
                **({"nvml_index": numbers} if second == 1 else {}),
            },
        }
        for second in (1, 2, 3)
    ]
    (folder / "usage.jsonl").write_text("".join(json.dumps(one) + "\n" for one in usage))
    return plot_view.view(str(tmp_path), "last")


def test_the_number_of_a_gpu_is_read_from_the_folder(tmp_path: Path) -> None:
    view = with_devices(tmp_path, {"GPU-aaaa": "3", "GPU-bbbb": "1"})
    assert plot_told.of_run(str(tmp_path), "last", view).devices == {"GPU-aaaa": "3", "GPU-bbbb": "1"}


def test_numbers_that_two_hosts_share_name_nothing(tmp_path: Path) -> None:
    view = with_devices(tmp_path, {"GPU-aaaa": "0", "GPU-bbbb": "0"})
    assert plot_told.of_run(str(tmp_path), "last", view).devices == {}
