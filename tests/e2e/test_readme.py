"""Every command the README shows works as written."""

import json
import os
import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from support import corpus

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
TRAINING = "sh -c 'echo step 1 loss 2.0; echo step 2 loss 1.0; sleep 1.2'"
IMPORTED = {
    "sacct.txt": "slurm-sacct-parsable/slurmdog_4months.psv",
    "trainer_state.json": "hf-trainer-state/tiny.json",
}
FAILED_LOG = "step 1 loss 2.0\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
LONGER = ("collect", "compare", "doctor", "push", "serve", "PID")
"""Commands with a test of their own."""
QUESTIONS = README.split("## Questions and their commands")[1].split("\n## ")[0]


def shown_commands() -> list[str]:
    """List the commands of the table, `-o` variants included, placeholders filled in."""
    commands: list[str] = []
    for row in re.findall(r"^\|[^|]+\|(.+)\|$", QUESTIONS, re.MULTILINE):
        for text in re.findall(r"`([^`]+)`", row):
            if text.startswith("jobmeter "):
                commands.append(text)
            elif text.startswith("-") and commands:
                commands.append(f"{commands[-1].split(' -')[0]} {text}")
    return commands


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    (folder / ".duct" / "logs").mkdir(parents=True)
    for file in corpus.folder("con-duct-releases/v0.23.0").glob("multi_*"):
        (folder / ".duct" / "logs" / file.name).write_bytes(file.read_bytes())
    for name, source in IMPORTED.items():
        (folder / name).write_bytes((corpus.ROOT / source).read_bytes())
    (folder / "slurm-17.out").write_text(FAILED_LOG)
    run(folder, "run", "--", *shlex.split(TRAINING))
    return folder


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    home = {"JOBMETER_HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        [str(ROOT / "jobmeter"), *arguments],
        cwd=folder,
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_table_shows_commands() -> None:
    assert len(shown_commands()) >= 15


@pytest.mark.parametrize("shown", [c for c in shown_commands() if not any(word in c for word in LONGER)])
def test_a_command_of_the_table_works(shown: str, place: Path) -> None:
    words = shlex.split(shown.replace("COMMAND", TRAINING))
    result = run(place, *words[1:])
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr


def test_attach_records_a_running_job(place: Path) -> None:
    with subprocess.Popen(["sleep", "0.6"]) as job:
        result = run(place, "attach", str(job.pid))
    assert result.returncode == 0, result.stderr


def test_compare_lays_two_runs_side_by_side(place: Path) -> None:
    shown = next(command for command in shown_commands() if "compare" in command)
    again = run(place, "run", "--summary", "json", "--", *shlex.split(TRAINING))
    second = json.loads(again.stderr.splitlines()[-1])["run_id"]
    listed = json.loads(run(place, "ls", "--json").stdout)
    first = next(one["run_id"] for one in listed if one["run_id"] != second)
    words = shlex.split(shown.replace("A B", f"{first} {second}"))
    result = run(place, *words[1:])
    assert result.returncode == 0, result.stderr
    assert first in result.stdout
    assert second in result.stdout


def test_collect_keeps_what_a_rank_on_another_host_tells(place: Path) -> None:
    shown = next(command for command in shown_commands() if "collect" in command)
    (place / "job").mkdir()
    told = {"timestamp": "2026-11-15T09:50:03Z", "step": 3, "loss": 0.5}
    (place / "job" / "metrics_rank0.jsonl").write_text(json.dumps(told) + "\n")
    (place / "hosts.toml").write_text(f'[ranks]\n0 = "{place}/job"\n')
    result = run(place, *shlex.split(shown)[1:], "--duration", "1", "--interval", "0.2")
    assert result.returncode == 0, result.stderr
    assert json.loads(run(place, "show", "last", "--json").stdout)["steps"]["last_step"] == 3


def test_doctor_gives_a_verdict(place: Path) -> None:
    result = run(place, "doctor")
    assert result.returncode in (0, 1), result.stderr
    assert "Traceback" not in result.stderr


def test_the_first_command_records_and_summarises(place: Path) -> None:
    began = time.monotonic()
    result = run(place, "run", "--", "true")
    assert result.returncode == 0
    assert result.stderr.startswith("jobmeter: completed (exit 0) after ")
    assert time.monotonic() - began < 30


def test_every_linked_page_exists() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120
