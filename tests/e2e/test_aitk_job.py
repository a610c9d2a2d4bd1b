"""A job of ai-toolkit's shape, unmodified: its config sets the pace and is kept, its own log is found."""

import json
import sys
from pathlib import Path

from support.recorder import Home, lines

CONFIG = """
job: extension
config:
  name: lora
  process:
    - type: sd_trainer
      training_folder: out
      monitoring: {sample_interval_seconds: 0.2, track_per_process: false}
      train: {batch_size: 4}
      hf_token: hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789
"""
SCRIPT = "import time; time.sleep(1.5)"


def prepare(folder: Path) -> None:
    (folder / "run.py").write_text(SCRIPT)
    (folder / "cfg.yml").write_text(CONFIG)


def test_its_config_is_taken_over_and_kept_without_secrets(home: Home, tmp_path: Path) -> None:
    prepare(tmp_path)
    environ = home.environ(AITK_JOB_ID="5d3f")
    done = home.run("-q", sys.executable, "run.py", "cfg.yml", cwd=tmp_path, env=environ)
    run = done.run
    assert (run["job_id"], run["name"], run["sample_interval"]) == ("5d3f", "lora", 0.2)
    assert run["monitoring"]["memory_critical_threshold"] == 0.95
    process = run["config"]["config"]["process"][0]
    assert process["train"] == {"batch_size": 4}
    assert "AbCdEf" not in json.dumps(run)
    keys = {key for line in lines(done.folder / "usage.jsonl") for key in line["measurements"]}
    assert "proc_rss_total" in keys
    assert "proc_rss" not in keys
    assert len(lines(done.folder / "usage.jsonl")) >= 6


def test_its_own_log_is_named_where_no_output_is_kept(home: Home, tmp_path: Path) -> None:
    prepare(tmp_path)
    log = tmp_path / "out" / "lora" / "log.txt"
    log.parent.mkdir(parents=True)
    log.write_text("of an earlier start\n")
    done = home.run("-q", "--capture", "none", sys.executable, "run.py", "cfg.yml", cwd=tmp_path)
    assert done.run["outputs"] == [{"stream": "log", "mode": "inherited", "path": str(log), "offset": 20}]
