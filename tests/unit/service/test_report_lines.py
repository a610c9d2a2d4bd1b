"""Which lines of charts a saved report keeps where a job has very many."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jobmeter.service import by_id, report_lines
from jobmeter.service.report_lines import Kept
from support import folders

RANKS, METRICS = 101, 50


def lines(kept: Kept) -> list[dict[str, Any]]:
    return kept.answer["series"]  # type: ignore[return-value]


def steps_of(home: Path) -> Kept:
    return by_id.ask(str(home), folders.RUN_ID, report_lines.steps)


def series_of(home: Path) -> Kept:
    return by_id.ask(str(home), folders.RUN_ID, report_lines.series)


def write_steps(home: Path, *, ranks: int, metrics: int, count: int = 2) -> None:
    folder = folders.write_run(home, seconds=3)
    rows = (
        {
            "timestamp": folders.iso(folders.STARTED + step),
            "step": step,
            "rank": rank,
            "source": "sdk",
            "metrics": {f"m{number:03}": step + number for number in range(metrics)},
        }
        for step in range(count)
        for rank in reversed(range(ranks))
    )
    (folder / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_of_very_many_ranks_the_first_are_kept_whole(tmp_path: Path) -> None:
    write_steps(tmp_path, ranks=RANKS, metrics=METRICS)
    kept = steps_of(tmp_path)
    assert Counter(line["rank"] for line in lines(kept)) == {0: 50, 1: 50, 2: 50, 3: 50}
    assert kept.left_out == RANKS * METRICS - 200


def test_more_lines_than_one_answer_holds_still_make_a_report(tmp_path: Path) -> None:
    write_steps(tmp_path, ranks=RANKS, metrics=METRICS, count=110)
    kept = steps_of(tmp_path)
    assert (len(lines(kept)), kept.left_out) == (200, 4850)
    assert sum(len(line["step"]) for line in lines(kept)) <= report_lines.VALUES
    assert all(sum(line["n"]) == 110 for line in lines(kept))


def test_metrics_that_no_answer_holds_are_counted_as_left_out(tmp_path: Path) -> None:
    write_steps(tmp_path, ranks=1, metrics=60)
    kept = steps_of(tmp_path)
    assert (len(lines(kept)), kept.left_out) == (50, 10)


@pytest.mark.parametrize(("ranks", "points"), [(1, 800), (4, 800), (8, 20_000 // 40)])
def test_few_lines_are_all_kept_and_finer(tmp_path: Path, ranks: int, points: int) -> None:
    write_steps(tmp_path, ranks=ranks, metrics=5, count=1000)
    kept = steps_of(tmp_path)
    assert (len(lines(kept)), kept.left_out) == (5 * ranks, 0)
    assert all(points / 2 < len(line["step"]) <= points for line in lines(kept))


def test_a_run_without_steps_has_no_lines_over_steps(tmp_path: Path) -> None:
    folders.write_run(tmp_path, seconds=3)
    assert steps_of(tmp_path).left_out == 0
    assert lines(steps_of(tmp_path)) == []


def test_of_very_many_devices_the_job_s_own_lines_come_first(tmp_path: Path) -> None:
    keys = {"aa_busy": "percent", "aa_read": "percent"}
    told = [
        *folders.definitions(),
        *(folders.definition(key, "gauge", unit, "device") for key, unit in keys.items()),
    ]
    folders.write_run(tmp_path / "plain", seconds=3)
    folder = folders.write_run(tmp_path / "home", seconds=3, context={"measurements": told})
    devices = {f"disk{number:05}": number for number in range(5000)}
    measured = dict.fromkeys(keys, devices)
    line = {"timestamp": folders.iso(folders.STARTED + 3), "num_samples": 1, "measurements": measured}
    folders.append(folder / "usage.jsonl", line)
    whole, kept = series_of(tmp_path / "plain"), series_of(tmp_path / "home")
    own = [line["key"] for line in lines(kept) if line["key"] not in keys]
    assert sorted(own) == sorted(line["key"] for line in lines(whole))
    found = Counter(line["instance"] for line in lines(kept) if line["key"] in keys)
    assert list(found) == list(devices)[: len(found)]
    assert sum(found.values()) == 200 - len(own)
    assert (whole.left_out, kept.left_out) == (0, 10_000 - sum(found.values()))
