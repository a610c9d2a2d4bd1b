"""Runs asked for by their names, and what a time limit leaves behind for those who ask."""

import json
from pathlib import Path

import pytest

from support.commands import jobmeter


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record two runs of one name and one that its time limit ended."""
    home = tmp_path_factory.mktemp("named") / "home"
    for word in ("first", "second"):
        jobmeter(home, "run", "-q", "--name", "greet", "--capture", "all", "--", "echo", word)
    jobmeter(home, "run", "-q", "--name", "slow", "--timeout", "0.3", "--capture", "all", "--", "sleep", "60")
    return home


@pytest.mark.parametrize(
    "words",
    [
        ["show", "greet"],
        ["analyze", "greet"],
        ["compare", "greet", "slow"],
        ["plot", "greet"],
        ["tag", "greet", "seen=yes"],
        ["export", "greet", "--format", "json"],
        ["check", "greet", "--against", "slow", "--max", "wall=+100000%"],
        ["steps", "greet"],
        ["ranks", "greet"],
        ["report", "greet", "-o", "{page}"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_takes_a_name(home: Path, tmp_path: Path, words: list[str]) -> None:
    answer = jobmeter(home, *(word.format(page=tmp_path / "page.html") for word in words))
    assert "unknown run" not in answer.complaint
    # echo has no steps and no ranks: what is refused is about the run
    assert answer.code == {"steps": 2, "ranks": 2}.get(words[0], 0), answer.complaint


def test_the_newest_of_a_name_is_meant(home: Path) -> None:
    assert jobmeter(home, "logs", "greet").text == "second\n"


def test_a_time_limit_is_told_by_all_who_tell_the_end(home: Path) -> None:
    assert (
        "cancelled at its time limit of 300 ms, by SIGTERM, exit code 124"
        in jobmeter(home, "show", "slow").text
    )
    verdict = json.loads(jobmeter(home, "analyze", "slow", "--json").text)["verdict"]
    assert verdict["sentence"] == "the job was stopped at its time limit of 300 ms"


def test_the_summary_of_a_run_says_that_its_time_limit_ended_it(tmp_path: Path) -> None:
    answer = jobmeter(tmp_path / "home", "run", "--timeout", "0.3", "--", "sleep", "60")
    assert answer.code == 124
    first = answer.complaint.splitlines()[0]
    assert first.startswith("jobmeter: cancelled (SIGTERM) after ")
    assert first.endswith(": the time limit of 300 ms (--timeout) ended it")
    answer = jobmeter(tmp_path / "home", "run", "--summary", "json", "--timeout", "0.3", "--", "sleep", "60")
    told = json.loads(answer.complaint)
    assert (told["status"], told["ended_by"], told["timeout_seconds"]) == ("cancelled", "timeout", 0.3)
