"""The run to go on from is found in the folders alone, whatever state a crash left them in."""

import json
from pathlib import Path

from jobmeter.hooks import resuming


def make_run(home: Path, run_id: str, *, name: str = "n", project: str = "p", steps: bytes = b"") -> Path:
    folder = home / "runs" / f"{run_id[:4]}-{run_id[4:6]}" / run_id
    folder.mkdir(parents=True)
    (folder / "run.jsonl").write_text(json.dumps({"type": "start", "job_id": f"job-{run_id}"}) + "\n")
    (folder / "sdk.jsonl").write_text(json.dumps({"type": "init", "name": name, "project": project}) + "\n")
    if steps:
        (folder / "steps.jsonl").write_bytes(steps)
    return folder


def test_the_newest_run_of_the_same_name_is_resumed(tmp_path: Path) -> None:
    make_run(tmp_path, "20261014T000000Z-aaaaaa", steps=b'{"step":4}\n')
    make_run(tmp_path, "20261115T000000Z-bbbbbb", steps=b'{"step":9}\n')
    make_run(tmp_path, "20261116T000000Z-cccccc", name="other")
    found = resuming.find(str(tmp_path), "allow", {"project": "p", "name": "n"})
    assert found is not None
    assert (found.run_id, found.job_id, found.next_step) == (
        "20261115T000000Z-bbbbbb",
        "job-20261115T000000Z-bbbbbb",
        10,
    )


def test_a_run_is_resumed_by_its_id(tmp_path: Path) -> None:
    make_run(tmp_path, "20261014T000000Z-aaaaaa")
    make_run(tmp_path, "20261115T000000Z-bbbbbb")
    found = resuming.find(str(tmp_path), "20261014T000000Z-aaaaaa", {})
    assert found is not None
    assert (found.run_id, found.next_step) == ("20261014T000000Z-aaaaaa", 0)


def test_nothing_is_resumed_where_nothing_fits(tmp_path: Path) -> None:
    make_run(tmp_path, "20261014T000000Z-aaaaaa")
    assert resuming.find(str(tmp_path), "must", {"project": "p", "name": "m"}) is None
    assert resuming.find(str(tmp_path / "nowhere"), "allow", {}) is None


def test_the_last_step_is_found_before_a_megabyte_of_nul_bytes(tmp_path: Path) -> None:
    lines = b"".join(b'{"step":%d}\n' % number for number in range(50_000))
    torn = lines + b'{"step":50' + bytes(1 << 20)
    folder = make_run(tmp_path, "20261014T000000Z-aaaaaa", steps=torn)
    assert resuming.Earlier(str(folder)).next_step == 50_000


def test_a_run_whose_project_came_from_the_settings_is_resumed(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "20261014T000000Z-aaaaaa")
    (folder / "run.jsonl").write_text(json.dumps({"type": "start", "project": "p", "name": "old"}) + "\n")
    (folder / "sdk.jsonl").write_text(json.dumps({"type": "init", "name": "n"}) + "\n")
    found = resuming.find(str(tmp_path), "allow", {"project": "p", "name": "n"})
    assert found is not None
    assert found.run_id == "20261014T000000Z-aaaaaa"


def test_a_run_with_a_large_config_is_resumed(tmp_path: Path) -> None:
    folder = make_run(tmp_path, "20261014T000000Z-aaaaaa")
    init = {"type": "init", "name": "n", "project": "p", "config": {"labels": "x" * 200_000}}
    (folder / "sdk.jsonl").write_text(json.dumps(init) + "\n")
    found = resuming.find(str(tmp_path), "allow", {"project": "p", "name": "n"})
    assert found is not None
