"""A job of ai-toolkit's shape, unmodified: its config sets the pace and is kept, its own log is found."""

import json
import sys
import zlib
from pathlib import Path

from support.commands import jobmeter
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
WRITES_ITS_OWN_LOG = """
import time
time.sleep(0.6)
with open("out/lora/log.txt", "a") as log:
    for step in range(5):
        clock = "00:01<00:09,  6.12it/s" if step else "00:10<?, ?it/s"
        said = f"lr: {1e-4:.1e} loss: {0.5 / (step + 1):.3e}"
        print(f"lora:  20%|##        | {step}/4 [{clock}, {said}]", end="\\r", file=log, flush=True)
        time.sleep(0.15)
    print(file=log)
"""


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
    (row,) = done.run["outputs"]
    assert (row["stream"], row["mode"], row["path"], row["offset"]) == ("log", "inherited", str(log), 20)
    written = log.read_bytes()
    assert (row["end"], row["crc32"]) == (len(written), zlib.crc32(written[20:][-4096:]))


def test_steps_are_read_from_its_own_log_where_no_output_is_kept(home: Home, tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "out" / "lora").mkdir(parents=True)
    (tmp_path / "run.py").write_text(WRITES_ITS_OWN_LOG)
    done = home.run("-q", "--capture", "none", sys.executable, "run.py", "cfg.yml", cwd=tmp_path)
    assert done.code == 0
    shown = json.loads(jobmeter(home.path, "show", "last", "--json").text)["steps"]
    assert (shown["count"], shown["last_step"], shown["source"]) == (5, 4, "log:tqdm")
    assert shown["metrics"]["loss"] == {"first": 0.5, "last": 0.1, "min": 0.1, "max": 0.5}
    assert jobmeter(home.path, "logs", "last").out == (tmp_path / "out" / "lora" / "log.txt").read_bytes()
