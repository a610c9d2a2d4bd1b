"""`jobmeter size` over jobs that were really recorded, and what it refuses."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.commands import jobmeter, jobmeter_on_terminal
from support.recorder import Home

MIB = 1 << 20
JOB = """
import sys, time
held = bytearray(int(sys.argv[1]) << 20)
for at in range(0, len(held), 4096):
    held[at] = 1
begin = time.process_time()
while time.process_time() - begin < 0.3:
    pass
"""


@pytest.fixture
def recorded(home: Home, tmp_path: Path) -> Home:
    """Record the same job three times, with 40, 60 and 50 MiB."""
    script = tmp_path / "work.py"
    script.write_text(JOB)
    for mebibytes in ("40", "60", "50"):
        assert home.run("-q", "--", sys.executable, str(script), mebibytes).code == 0
    return home


def sized(home: Home, *words: str) -> dict[str, Any]:
    (found,) = json.loads(jobmeter(home.path, "size", *words, "--json").text)
    return found  # type: ignore[no-any-return]  # JSON


def test_a_recorded_job_is_sized_by_its_own_runs(recorded: Home) -> None:
    found = sized(recorded, "python work.py", "--for", "slurm")
    assert (found["job"], found["runs"]) == ("python work.py", 3)
    memory = found["advice"]["memory"]
    assert 60 * MIB <= memory["largest"] <= 90 * MIB
    assert memory["largest"] <= memory["advised"] <= 2.5 * memory["largest"]
    assert 0 < memory["failure_probability"] < memory["failure_probability_high"] < 1
    assert (memory["confidence"], memory["runs"]) == ("low", 3)
    assert memory["low"] < memory["high"]
    assert found["advice"]["cpus"]["advised"] == 1
    assert found["advice"]["time"]["advised"] % 60 == 0
    assert found["lines"][0] == f"#SBATCH --mem={memory['advised'] // MIB}M"


def test_the_page_fits_a_terminal_of_80_columns(recorded: Home) -> None:
    answer = jobmeter_on_terminal(recorded.path, "size", "last", "--for", "nextflow", env={"NO_COLOR": "1"})
    lines = answer.text.splitlines()
    assert answer.code == 0
    assert lines[0] == "python work.py  3 runs"
    assert lines[2].split() == ["ASKED", "TYPICAL", "LARGEST", "ADVISED", "SAVES", "FAILS", "CONFIDENCE"]
    assert [line.split()[0] for line in lines[3:6]] == ["memory", "cpus", "time"]
    assert "    withName: 'python work.py' {" in lines
    assert max(map(len, lines)) <= 80


def test_one_run_is_not_enough(home: Home) -> None:
    assert home.run("-q", "--", "true").code == 0
    answer = jobmeter(home.path, "size", "true")
    assert answer.code == 0
    assert "memory: not enough data: 1 of at least 2 runs that ended well tell of it" in answer.text
    everything = jobmeter(home.path, "size", "--for", "k8s")
    assert everything.code == 0
    assert "resources:" not in everything.text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nothing-like-it",), "no job matches nothing-like-it"),
        (("--for", "pbs"), "unknown target: pbs"),
        (("--since", "soon"), "soon is no time"),
        (("--input-size", "3s"), "3s is no size"),
        (("wall>",), "a value is missing"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(home: Home, words: tuple[str, ...], sentence: str) -> None:
    assert home.run("-q", "--", "true").code == 0
    answer = jobmeter(home.path, "size", *words)
    assert answer.code == 2
    assert sentence in answer.complaint
    assert "Traceback" not in answer.complaint


def test_a_home_without_runs_says_how_to_begin(home: Home) -> None:
    answer = jobmeter(home.path, "size")
    assert answer.code == 2
    assert "there is no run to learn from" in answer.complaint
