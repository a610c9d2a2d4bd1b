"""The wishes of ai-toolkit configs, as its examples and its UI write them."""

import json
from pathlib import Path

import pytest

from jobmeter.config import aitk, options

CONFIG = """
---
job: extension
config:
  name: "flux_[name]_v1"
  process:
    - type: 'sd_trainer'
      training_folder: "output"
      performance_log_every: 1000
      monitoring:
        sample_interval_seconds: 2
        track_per_process: false
        memory_warning_threshold: 0.8
      train:
        batch_size: 4  # the one to change
meta:
  version: '1.0'
"""


def write(folder: Path, text: str, name: str = "cfg.yml") -> list[str]:
    (folder / name).write_text(text)
    return ["python", "run.py", name]


def test_the_section_becomes_settings(tmp_path: Path) -> None:
    command = [*write(tmp_path, CONFIG), "--name", "cat"]
    chosen, rest = options.parse(["--", *command], {"AITK_JOB_ID": "9b1d"}, str(tmp_path))
    assert rest == command
    assert (chosen.sample_interval, chosen.report_interval) == (2.0, 2.0)
    assert (chosen.job_id, chosen.name) == ("9b1d", "flux_cat_v1")
    assert chosen.aitk is not None
    assert chosen.aitk.monitoring == {
        "enabled": True,
        "sample_interval_seconds": 2.0,
        "track_per_process": False,
        "analyze_on_complete": True,
        "memory_warning_threshold": 0.8,
        "memory_critical_threshold": 0.95,
    }
    assert chosen.aitk.log == "output/flux_cat_v1/log.txt"


def test_what_the_user_says_wins(tmp_path: Path) -> None:
    given = ["--sample-interval", "0.5", "--name", "mine", "--job-id", "j", *write(tmp_path, CONFIG)]
    chosen, _ = options.parse(given, {"AITK_JOB_ID": "9b1d"}, str(tmp_path))
    assert (chosen.sample_interval, chosen.name, chosen.job_id) == (0.5, "mine", "j")


def test_without_a_section_the_defaults_of_the_tool_hold(tmp_path: Path) -> None:
    document = {"job": "extension", "config": {"name": "n", "process": [{"type": "sd_trainer"}]}}
    command = write(tmp_path, json.dumps(document), ".job_config.json")
    found = aitk.find(command, str(tmp_path))
    assert found is not None
    assert found.monitoring == aitk.DEFAULTS
    assert found.settings() == {"name": "n", "sample_interval": 5.0, "report_interval": 5.0}


def test_switched_off_it_changes_no_interval(tmp_path: Path) -> None:
    command = write(tmp_path, CONFIG.replace("sample_interval_seconds: 2", "enabled: false"))
    found = aitk.find(command, str(tmp_path))
    assert found is not None
    assert found.settings() == {"name": "flux__v1"}


@pytest.mark.parametrize("value", ["-1", "0", "often", "[1]", ".nan", "true"])
def test_a_senseless_interval_is_left_at_its_default(tmp_path: Path, value: str) -> None:
    found = aitk.find(write(tmp_path, CONFIG.replace("seconds: 2", f"seconds: {value}")), str(tmp_path))
    assert found is not None
    assert found.monitoring["sample_interval_seconds"] == 5.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00\x01",
        "a: [",
        "config: 3",
        "config: {process: []}",
        "config: {process: [3]}",
        "- 1",
        "config: {process: " + "[" * 5000,
        CONFIG + "#" * 70_000,
    ],
)
def test_what_is_no_such_config_changes_nothing(tmp_path: Path, text: str) -> None:
    assert aitk.find(write(tmp_path, text), str(tmp_path)) is None


def test_json_nested_too_deeply_changes_nothing(tmp_path: Path) -> None:
    text = '{"config": {"process": ' + "[" * 60_000
    assert aitk.find(write(tmp_path, text, "cfg.json"), str(tmp_path)) is None


def test_a_missing_config_is_for_the_job_to_tell(tmp_path: Path) -> None:
    assert aitk.find(["python", "run.py", "nowhere.yml"], str(tmp_path)) is None
    assert aitk.find(["python", "train.py", "cfg.yml"], str(tmp_path)) is None
