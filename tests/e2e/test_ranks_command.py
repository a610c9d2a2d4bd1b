"""Four ranks as a launcher starts them, one of them slow and one that never comes: in one folder and in many."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import rank_jobs
from support.commands import jobmeter
from support.recorder import Home, merged, wait_for


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "launch.py").write_text(rank_jobs.LAUNCHER)
    (tmp_path / "rank.py").write_text(rank_jobs.RANK)
    return [sys.executable, str(tmp_path / "launch.py"), str(tmp_path / "rank.py")]


def told(home: Home, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(jobmeter(home.path, *words, "--json").text)
    return found


def check(found: dict[str, Any]) -> None:
    assert (found["world_size"], found["ranks_seen"], found["ranks_missing"]) == (4, [0, 1, 2], [3])
    assert found["stragglers"] == [2]
    ranks = found["ranks"]
    assert ranks[2]["relative"] == pytest.approx(2.0, rel=0.1)
    assert [one["last_step"] for one in ranks] == [24, 24, 24]
    assert found["imbalance"]["step_seconds"] == pytest.approx(0.2 * 3 / 0.4 - 1, abs=0.1)
    # rank 1 holds 90 MiB more than each of the others
    larger = ranks[1]["memory_peak_bytes"] - ranks[0]["memory_peak_bytes"]
    assert larger == pytest.approx(90 << 20, rel=0.1)
    assert found["imbalance"]["memory"] > 0.5
    added = found["throughput"]["tokens_per_second"]
    assert (round(added["value"]), added["ranks"]) == (50_000, 3)
    assert (found["loss"]["first"], found["loss"]["last"]) == (2.2, 1.2)


def test_all_ranks_in_one_folder(home: Home, command: list[str]) -> None:
    done = home.run("-q", "--sample-interval", "0.2", "--report-interval", "0.4", *command)
    assert done.code == 0, done.stderr
    found = told(home, "ranks", "last")
    check(found)
    assert len(found["runs"]) == 1
    assert len({one["pid"] for one in found["ranks"]}) == 3
    shown = jobmeter(home.path, "show", "last").text.splitlines()
    assert "ranks     0-2 of 4; never seen: 3" in shown
    assert f"job       `jobmeter ranks {done.folder.name}` compares its ranks" in shown
    assert told(home, "show", "last")["ranks"] == [0, 1, 2]
    listed = jobmeter(
        home.path, "ls", "--filter", "rank=2 and ranks=3 and world_size=4", "-c", "id,rank"
    ).text
    assert listed.splitlines()[1].split() == [done.folder.name, "0-2"]
    assert jobmeter(home.path, "ls", "--filter", "rank=3").text == ""


def test_a_recorder_for_each_rank(home: Home, command: list[str]) -> None:
    done = subprocess.run(command, env=home.environ(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    wait_for(lambda: all(merged(folder).get("type") == "end" for folder in home.folders()))
    found = told(home, "ranks", "last")
    check(found)
    folders = [folder.name for folder in home.folders()]
    assert sorted(run["run_id"] for run in found["runs"]) == folders
    assert sorted(one["run_id"] for one in found["ranks"]) == folders
    assert told(home, "ranks", found["job_id"]) == found
    shown = jobmeter(home.path, "show", found["ranks"][2]["run_id"]).text.splitlines()
    assert "ranks     2 of 4; elsewhere in the job: 0-1; never seen: 3" in shown
    assert f"job       3 runs; `jobmeter ranks {found['ranks'][2]['run_id']}` compares its ranks" in shown
    listed = jobmeter(home.path, "ls", "--filter", f'job_id="{found["job_id"]}" rank!=1', "-c", "rank").text
    assert sorted(listed.split()[1:]) == ["0", "2"]
    text = jobmeter(home.path, "ranks", "last", env={"COLUMNS": "80"}).text.splitlines()
    assert max(map(len, text)) <= 80
    # the straggler comes first
    assert next(line.split()[0] for line in text if line.endswith("straggler")) == "2"


def test_a_command_without_ranks_is_answered_with_a_sentence(home: Home) -> None:
    done = home.run("-q", "true")
    answer = jobmeter(home.path, "ranks", "last")
    assert (answer.code, answer.text) == (2, "")
    assert answer.complaint.startswith(f"jobmeter: job {done.folder.name} has no ranks and no steps\nhint: ")
