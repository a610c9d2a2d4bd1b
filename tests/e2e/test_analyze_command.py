"""`jobmeter analyze` and `jobmeter report` on runs that were really recorded."""

import json
import sys
from pathlib import Path

import pytest

from support import commands, folders

FAILS = """
import sys, time
for step in range(4):
    print(f"step {step} loss {1 / (step + 1)}", flush=True)
    time.sleep(0.1)
raise ValueError("learning rate must be positive")
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a training that fails, its output captured."""
    home = tmp_path_factory.mktemp("analyze") / "home"
    done = commands.jobmeter(home, "run", "-q", "--capture", "all", "--", sys.executable, "-c", FAILS)
    assert done.code == 1
    return home


def jobmeter(home: Path, *words: str) -> commands.Answer:
    return commands.jobmeter(home, *words, env={"COLUMNS": "80"})


def test_the_first_thing_said_is_why(home: Path) -> None:
    done = jobmeter(home, "analyze", "last")
    assert done.code == 0, done.complaint
    verdict = next(line for line in done.text.splitlines() if line.startswith("verdict"))
    assert "ValueError" in verdict or "learning rate" in verdict
    assert max(map(len, done.text.splitlines())) <= 80
    assert "\x1b" not in done.text


def test_json_has_the_documented_keys(home: Path) -> None:
    told = json.loads(jobmeter(home, "analyze", "last", "--json").text)
    assert list(told) == ["verdict", "health", "findings", "recommendations", "log_errors"]
    assert set(told["verdict"]) == {"cause", "sentence", "confidence", "evidence"}
    assert told["health"] == "critical"
    (error,) = told["log_errors"]
    assert {"timestamp", "level", "type", "message", "traceback", "count"} <= set(error)
    assert error["type"] == "ValueError"


def test_asking_twice_gives_the_same_bytes(home: Path) -> None:
    first, second = (jobmeter(home, "analyze", "last", "--json").text for _ in range(2))
    assert first == second


def test_show_says_why_in_a_line(home: Path) -> None:
    assert "why  " in jobmeter(home, "show", "last").text
    assert "cause" in json.loads(jobmeter(home, "show", "last", "--json").text)["verdict"]


def test_a_report_is_one_small_page(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = jobmeter(home, "report", "last", "-o", str(page))
    assert done.code == 0, done.complaint
    text = page.read_text()
    assert len(text) < 300_000
    assert "Performance Analysis" in text
    assert "learning rate must be positive" in text
    assert "script-src 'sha256-" in text
    told = json.loads(jobmeter(home, "report", "last", "-o", str(page), "--json").text)
    assert told == {"path": str(page), "bytes": page.stat().st_size}


def test_a_folder_of_another_home_has_a_page_too(home: Path, tmp_path: Path) -> None:
    (folder,) = home.glob("runs/*/*")
    page = tmp_path / "report.html"
    done = jobmeter(tmp_path / "elsewhere", "report", str(folder), "-o", str(page))
    assert done.code == 0, done.complaint
    assert "learning rate must be positive" in page.read_text()


def test_a_log_file_needs_no_run(tmp_path: Path) -> None:
    log = tmp_path / "slurm-17.out"
    log.write_text(
        "slurmstepd: error: *** JOB 17 ON n1 CANCELLED AT 2026-11-15T09:50:01 DUE TO TIME LIMIT ***\n"
    )
    told = json.loads(jobmeter(tmp_path / "home", "analyze", str(log), "--json").text)
    assert told["verdict"]["cause"] == "timeout"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("analyze", "nobody"), "unknown run: nobody"),
        (("analyze", "last", "--errors", "-1"), "--errors -1 is out of range"),
        (("report", "last", "-o", "report.pdf"), "does not end in .html"),
        (("report", "nobody", "-o", "r.html"), "unknown run: nobody"),
        (
            ("report", "/etc/hostname", "-o", "r.html"),
            "/etc/hostname is a file: a report is written of a run",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(home: Path, words: tuple[str, ...], sentence: str) -> None:
    done = jobmeter(home, *words)
    assert done.code == 2
    assert sentence in done.complaint
    assert "Traceback" not in done.complaint


def test_a_run_that_goes_on_can_be_analysed(tmp_path: Path) -> None:
    folders.write_run(tmp_path, ended=False, start=folders.this_recorder())
    done = jobmeter(tmp_path, "analyze", "last", "--json")
    assert json.loads(done.text)["health"] in ("good", "warning")
