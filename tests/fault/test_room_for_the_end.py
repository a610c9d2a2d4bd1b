"""Output that fills the disk does not cost the run its outcome."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
mount -t tmpfs -o size=1m tmpfs "$1" || exit 99
job='sleep 0.2; head -c 3000000 /dev/zero; exit 7'
"$2" -m jobmeter run -q --home "$1/home" --capture all -- sh -c "$job" | wc -c >"$3/count"
cp "$1"/home/runs/*/*/run.jsonl "$3/run.jsonl"
ls -A "$1"/home/runs/*/* >"$3/files"
"""


def test_a_disk_filled_by_the_output_still_takes_the_end(tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    done = subprocess.run(
        [
            "unshare",
            "-m",
            "bash",
            "-c",
            SCRIPT,
            "bash",
            str(tmp_path / "mount"),
            sys.executable,
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "count").read_text().strip() == "3000000"
    end = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-1])
    assert (end["type"], end["exit_code"], end["status"]) == ("end", 7, "failed")
    assert end["dropped"]["stdout bytes"] > 0
    assert ".room" not in (tmp_path / "files").read_text()
