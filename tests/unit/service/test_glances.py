"""Runs at a glance: badges and small lines for the rows of a table, and the fields a filter may name."""

import itertools
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import field_list, glances, rules_digest
from support import served_homes
from support.served_homes import BUILD, FAILED, LIVE, TRAINED


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(served_homes.write(tmp_path_factory.mktemp("glances") / "home"))


def look(home: str, *ids: str, lines: tuple[str, ...] = ()) -> dict[str, dict[str, object]]:
    found = glances.glances(home, ids, lines, clock=lambda: 0.0)
    return {str(one["run_id"]): one for one in found["runs"]}  # type: ignore[attr-defined]


def test_a_run_that_failed_is_critical_and_a_live_one_has_no_health(home: str) -> None:
    found = look(home, FAILED, LIVE)
    assert found[FAILED]["health"] == "critical"
    assert "health" not in found[LIVE]


def test_lines_are_small_and_keep_the_largest(home: str) -> None:
    line = look(home, BUILD, lines=("memory", "cpu"))[BUILD]["lines"]
    assert isinstance(line, dict)
    assert (line["memory"]["unit"], line["cpu"]["unit"]) == ("bytes", "cores")
    assert len(line["memory"]["values"]) == glances.POINTS
    assert max(line["memory"]["values"]) > min(line["memory"]["values"]) > 0


def test_the_loss_of_a_training_is_a_line_and_others_have_none(home: str) -> None:
    lines = look(home, TRAINED, BUILD, lines=("loss",))
    loss = lines[TRAINED]["lines"]["loss"]  # type: ignore[index]
    assert loss["key"] == "loss"
    assert loss["values"][0] == pytest.approx(2.0 / 2)  # the last of the first stretch: of step 0 and 1
    assert loss["values"][-1] == pytest.approx(0.02)
    assert lines[BUILD]["lines"] == {}


def test_what_takes_too_long_waits(tmp_path: Path) -> None:
    home = str(served_homes.write(tmp_path / "home"))
    ticks = itertools.count()
    found = glances.glances(home, [FAILED, BUILD, TRAINED], (), clock=lambda: next(ticks))
    assert found["waiting"] == [BUILD, TRAINED]
    again = glances.glances(home, [FAILED, BUILD, TRAINED], (), clock=lambda: next(ticks))
    assert again["waiting"] == [TRAINED]
    assert again["runs"][0] == {"run_id": FAILED, "health": "critical", "lines": {}}  # type: ignore[index]


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
    told = {str(one["name"]): one for one in field_list.told(home)}
    assert told["wall"] == {
        "name": "wall",
        "holds": "a span of time",
        "operators": ["<", "<=", ">", ">=", "=", "!="],
        "example": "90s",
    }
    assert "failed" in told["status"]["values"]  # type: ignore[operator]
    assert told["project"]["operators"] == ["=", "!=", "~", "!~"]
    assert told["config.train.num_workers"]["holds"] == "anything"
    assert told["loss"]["holds"] == "a number, or NaN"
    assert "loss.min" not in told
