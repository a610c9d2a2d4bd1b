"""The benchmark of live anomalies: its scorer gives the published figures, and jobmeter passes its bar."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support import corpus

BENCH = Path(__file__).parents[2] / "bench" / "nab.py"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float]]:
    """Run the benchmark once."""
    out = tmp_path_factory.mktemp("nab") / "lines.json"
    subprocess.run([sys.executable, BENCH, "--corpus", corpus.folder("nab"), "--json", out], check=True)
    return {line["detector"]: line for line in json.loads(out.read_text())}


def test_the_scorer_gives_what_was_published_for_the_windowed_gaussian(
    lines: dict[str, dict[str, float]],
) -> None:
    gaussian = lines["windowed Gaussian"]
    assert round(gaussian["all_files"], 2) == 39.65
    assert (gaussian["found"], gaussian["false_alarms"]) == (73, 409)


def test_silence_is_worth_nothing_and_chance_little(lines: dict[str, dict[str, float]]) -> None:
    assert lines["null"]["all_files"] == 0
    assert 5 < lines["random, mean of 10"]["all_files"] < 15


def test_the_watch_passes_on_files_it_was_not_tuned_on(lines: dict[str, dict[str, float]]) -> None:
    jobmeter = lines["jobmeter"]
    assert jobmeter["held_out"] >= 55
    assert jobmeter["all_files"] >= 55
    assert jobmeter["changed"] >= 45
    assert jobmeter["own_kind"] > lines["windowed Gaussian"]["own_kind"]


def test_the_threshold_it_ships_with_passes_too(lines: dict[str, dict[str, float]]) -> None:
    assert lines["jobmeter as shipped"]["threshold"] == 1.05
    assert lines["jobmeter as shipped"]["held_out"] >= 55
    assert lines["jobmeter as shipped"]["all_files"] >= 55
