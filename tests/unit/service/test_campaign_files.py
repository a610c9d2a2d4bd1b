"""The file of a build campaign: never lost, mended where it is old, put aside where it is damaged."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jobmeter.compat import campaign as front
from jobmeter.errors import UsageError
from jobmeter.service import campaign, campaign_file
from jobmeter.service.campaign_builds import Told
from support.books import read, region

WORKERS, EACH = 8, 50


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign_stats.json"


def test_eight_writers_lose_nothing(path: Path) -> None:
    script = (
        "import sys; from jobmeter.compat import campaign\n"
        "who, path = sys.argv[1], sys.argv[2]\n"
        f"for n in range({EACH}):\n"
        "    where = f'region-{int(who) % 2}'\n"
        "    campaign.record_build_result(where, n % 5 != 0, 1.0, build_id=f'{who}-{n}', path=path)\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", script, str(n), str(path)]) for n in range(WORKERS)]
    assert [process.wait(timeout=120) for process in started] == [0] * WORKERS
    document = campaign.load(path)
    assert document["total_builds_all_regions"] == WORKERS * EACH
    for name in ("region-0", "region-1"):
        found = region(path, name)
        assert (found["total_builds"], found["successes"], found["failures"]) == (200, 160, 40)
        assert found["total_duration_minutes"] == 200.0
    assert list(path.parent.glob(".*.part")) == []


def test_threads_of_one_process_take_turns_too(path: Path) -> None:
    def work() -> None:
        for _ in range(10):
            front.record_build_result("us-west2", True, 1.0, path=path)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert region(path)["total_builds"] == 40


@pytest.mark.parametrize(
    "damage",
    ['{"regions": {"us-we', "[]", '{"regions": 3}', '{"regions": {"a": 1}}', "\x00\x01", "[" * 100_000],
)
def test_a_damaged_file_is_put_aside_with_a_sentence(path: Path, damage: str) -> None:
    said: list[str] = []
    for _ in range(2):
        path.write_text(damage)
        campaign.settle(path, Told(region="us-west2", fields={"status": "QUEUED"}), warn=said.append)
    assert region(path)["total_builds"] == 1
    aside = sorted(path.parent.glob("*.damaged-*"))
    assert [file.read_text() for file in aside] == [damage, damage]
    assert "held no campaign" in said[0]
    assert aside[0].name in said[0]


def test_reading_a_damaged_file_leaves_it_alone(path: Path) -> None:
    path.write_text("{")
    with pytest.raises(UsageError, match="holds no campaign"):
        campaign.load(path)
    assert path.read_text() == "{"


def test_an_empty_file_is_a_campaign_that_has_not_begun(path: Path) -> None:
    path.write_text("\n")
    front.record_build_result("us-west2", True, 1.0, path=path)
    assert list(path.parent.glob("*.damaged-*")) == []


def test_a_file_with_nan_and_a_byte_order_mark_is_read(path: Path) -> None:
    path.write_text(
        '\ufeff{"regions": {"us-west2": {"total_builds": 3, "successes": NaN}}}', encoding="utf-8"
    )
    front.record_build_result("us-west2", True, 1.0, path=path)
    assert region(path)["total_builds"] == 4


def test_a_number_of_400_digits_is_none(path: Path) -> None:
    path.write_text('{"regions": {"us-west2": {"total_builds": 3, "total_cost_usd": 1%s}}}' % ("0" * 400))
    front.record_build_result("us-west2", True, 1.0, path=path)
    assert region(path)["total_builds"] == 4
    assert region(path)["total_cost_usd"] is None


def test_half_a_character_becomes_a_question_mark(path: Path) -> None:
    front.record_build_result("us-west2", True, build_id="a\udcff", path=path)
    assert region(path)["recent_builds"][0]["build_id"] == "a?"


def test_a_pipe_is_no_campaign(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(UsageError, match="it is no file"):
        front.record_build_result("us-west2", True, path=path)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_the_faults_of_older_files_are_mended(path: Path) -> None:
    older = {
        "campaign_start": 1763026000.0,
        "total_builds_all_regions": 47,
        "someone": "else's",
        "regions": {
            "us-west2": {
                "total_builds": 4,
                "successes": 2,
                "failures": 2,
                "success_rate": 0.5,
                "current_streak": 1,
                "fatigue_reason": "old name",
                "recent_builds": [
                    {"build_id": "a", "success": True, "status": "SUCCESS", "duration_minutes": 10},
                    {"build_id": "b", "success": False, "status": "FAILURE", "duration_seconds": 300, "cost_usd": 2.5},
                    {"build_id": "c", "success": False, "status": "QUEUED"},
                    {"build_id": "d", "success": True, "status": "SUCCESS", "duration_seconds": 1200},
                    "garbage",
                ],
            },
            "eu": {"total_builds": 500, "successes": 400, "failures": 100, "total_duration_minutes": 1000.0,
                   "recent_builds": [{"build_id": "z", "success": False, "status": "WORKING"}]},
        },
    }  # fmt: skip
    path.write_text(json.dumps(older))
    front.record_build_result("us-west2", True, 5.0, build_id="e", path=path)
    found = region(path)
    assert (found["total_builds"], found["successes"], found["failures"], found["success_rate"]) == (
        5,
        3,
        1,
        75.0,
    )
    assert found["total_duration_minutes"] == 40.0
    assert found["total_cost_usd"] == 2.5
    assert found["last_fatigue_reason"] == "old name"
    eu = region(path, "eu")
    assert (eu["total_builds"], eu["failures"], eu["success_rate"]) == (500, 99, 80.2)
    document = read(path)
    assert (document["campaign_start"], document["someone"]) == (1763026000.0, "else's")
    assert document["total_builds_all_regions"] == 505


def test_a_mended_file_is_not_mended_again(path: Path) -> None:
    older = {"regions": {"eu": {"total_builds": 9, "successes": 5, "failures": 4,
             "recent_builds": [{"build_id": "z", "success": False, "status": "WORKING"}]}}}  # fmt: skip
    path.write_text(json.dumps(older))
    for _ in range(3):
        front.record_fatigue_event("us-west2", "x", "unknown", path=path)
    assert region(path, "eu")["failures"] == 3


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("")
    real.chmod(0o640)
    link.symlink_to(real)
    front.record_build_result("us-west2", True, 1.0, path=link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert region(real)["total_builds"] == 1


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        front.record_build_result("us-west2", True, 1.0, path=tmp_path / "file" / "stats.json")
    (tmp_path / "stats.json").mkdir()
    with pytest.raises(UsageError, match="cannot read"):
        front.record_build_result("us-west2", True, 1.0, path=tmp_path / "stats.json")


def test_the_home_holds_the_campaign_that_nobody_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBMETER_HOME", str(tmp_path / "home"))
    front.record_build_result("us-west2", True, 1.0)
    assert front.load_campaign_stats()["total_builds_all_regions"] == 1
    assert (tmp_path / "home" / campaign_file.NAME).exists()
