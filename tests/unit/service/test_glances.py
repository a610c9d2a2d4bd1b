"""Runs at a glance: badges and small lines for the rows of a table, and the fields a filter may name."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import field_list, glances, rules_digest
from support import folders, served_homes
from support.served_homes import BUILD, FAILED, LIVE, TRAINED


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(served_homes.write(tmp_path_factory.mktemp("glances") / "home"))


def look(home: str, *ids: str, lines: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    found: Any = glances.glances(home, ids, lines, clock=lambda: 0.0)
    return {one["run_id"]: one for one in found["runs"]}


def test_a_run_that_failed_is_critical_and_a_live_one_has_no_health(home: str) -> None:
    found = look(home, FAILED, LIVE)
    assert found[FAILED]["health"] == "critical"
    assert "health" not in found[LIVE]


def test_lines_are_small_and_keep_the_largest(home: str) -> None:
    line = look(home, BUILD, lines=("memory", "cpu"))[BUILD]["lines"]
    assert (line["memory"]["unit"], line["cpu"]["unit"]) == ("bytes", "cores")
    assert len(line["memory"]["values"]) == glances.POINTS
    assert max(line["memory"]["values"]) > min(line["memory"]["values"]) > 0


def test_the_loss_of_a_training_is_a_line_and_others_have_none(home: str) -> None:
    lines = look(home, TRAINED, BUILD, lines=("loss",))
    loss = lines[TRAINED]["lines"]["loss"]
    assert loss["key"] == "loss"
    assert loss["values"][0] == pytest.approx(2.0 / 2)  # the last of the first stretch: of step 0 and 1
    assert loss["values"][-1] == loss["last"] == pytest.approx(0.02)
    assert lines[BUILD]["lines"] == {}


def test_the_last_value_of_a_long_run_is_that_of_its_newest_sample(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=2400, processes=0)
    newest = {
        "timestamp": folders.iso(folders.STARTED + 2401),
        "num_samples": 1,
        "clock": {name: [folders.CLOCK + 2400, folders.CLOCK + 2401] for name in ("wait", "cgroup", "proc")},
        "measurements": {
            "cgroup_mem_unreclaimable": 1 << 20,
            "cgroup_mem_current": 1 << 20,
            "wait_cputime": 0.25,
            "cgroup_cputime": 0.25,
            "proc_cputime_total": 0.25,
        },
    }
    folders.append(folder / "usage.jsonl", newest)
    lines = look(str(tmp_path), BUILD, lines=("memory", "cpu"))[BUILD]["lines"]
    assert (lines["memory"]["last"], lines["cpu"]["last"]) == (1 << 20, 0.25)
    # what is drawn last are the peak and the mean of a minute
    assert lines["memory"]["values"][-1] > 100 << 20
    assert lines["cpu"]["values"][-1] > 1


def test_a_loss_that_is_nan_now_says_so(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=5, processes=0)
    for step, loss in enumerate((1.0, 0.5, "NaN")):
        at = folders.iso(folders.STARTED + step)
        told = {"timestamp": at, "step": step, "rank": 0, "source": "sdk", "metrics": {"loss": loss}}
        folders.append(folder / "steps.jsonl", told)
    loss = look(str(tmp_path), BUILD, lines=("loss",))[BUILD]["lines"]["loss"]
    assert (loss["values"], loss["last"]) == ([1.0, 0.5, None], "NaN")


def test_what_takes_too_long_waits(tmp_path: Path) -> None:
    home = str(served_homes.write(tmp_path / "home"))
    ticks = itertools.count()
    found = glances.glances(home, [FAILED, BUILD, TRAINED], (), clock=lambda: next(ticks))
    assert found["waiting"] == [BUILD, TRAINED]
    again: Any = glances.glances(home, [FAILED, BUILD, TRAINED], (), clock=lambda: next(ticks))
    assert again["waiting"] == [TRAINED]
    assert again["runs"][0] == {"run_id": FAILED, "health": "critical", "lines": {}}


def test_a_run_of_very_many_samples_is_left_until_it_is_opened(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glances, "MOST_SAMPLES", 1)
    monkeypatch.setattr(rules_digest, "digest", lambda: "other rules")
    found = glances.glances(home, [FAILED], (), clock=lambda: 0.0)
    assert found == {"runs": [{"run_id": FAILED, "lines": {}}], "waiting": []}


def test_runs_that_are_gone_or_none_are_left_out(home: str) -> None:
    assert list(look(home, "20200101T000000Z-000000", "../etc", BUILD)) == [BUILD]


def test_unknown_lines_and_too_many_runs_are_refused(home: str) -> None:
    with pytest.raises(UsageError, match="no such line"):
        glances.glances(home, [BUILD], ["pressure"])
    with pytest.raises(UsageError, match="0 runs"):
        glances.glances(home, [], [])
    with pytest.raises(UsageError, match="101 runs"):
        glances.glances(home, [BUILD] * 101, [])


def test_fields_are_those_of_all_runs_and_those_the_newest_have(home: str) -> None:
    told: dict[str, Any] = {str(one["name"]): one for one in field_list.told(home)}
    assert told["wall"] == {
        "name": "wall",
        "holds": "a span of time",
        "operators": ["<", "<=", ">", ">=", "=", "!="],
        "example": "90s",
    }
    assert "failed" in told["status"]["values"]
    assert told["project"]["operators"] == ["=", "!=", "~", "!~"]
    assert told["config.train.num_workers"]["holds"] == "anything"
    assert told["loss"]["holds"] == "a number, or NaN"
    assert "loss.min" not in told
