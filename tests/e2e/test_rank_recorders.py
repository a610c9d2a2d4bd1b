"""Four ranks of one job with a recorder each: one slow, one that dies, asked for by the job and by every run of it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.commands import jobmeter
from support.recorder import Home

FREE = """
import os, sys, time
import jobmeter

rank = int(os.environ["RANK"])
pause = 0.09 if rank == 2 else 0.05
run = jobmeter.init(project="ranks")
due = time.monotonic()
for step in range(40):
    due += pause
    time.sleep(max(0.0, due - time.monotonic()))
    run.log({"loss": 2.0 / (step + 1), "data_time": 0.045 if rank == 2 else 0.005}, step=step)
    if rank == 1 and step == 20:
        sys.exit(7)
run.finish()
"""
TOGETHER = """
import os, signal, sys, time
from pathlib import Path

rank, meeting = int(os.environ["RANK"]), Path(sys.argv[1])
for step in range(40):
    time.sleep(0.02)
    if rank == 1 and step == 15:
        os.kill(os.getpid(), signal.SIGKILL)
    (meeting / f"{step}.{rank}").touch()
    while len(list(meeting.glob(f"{step}.*"))) < 4:
        if (meeting / "lost").exists():
            print(f"[rank{rank}]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum={step}, "
                  "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=2000) ran for 2017 milliseconds before "
                  "timing out.", flush=True)
            sys.exit(1)
        time.sleep(0.002)
    print(f"step {step} loss {2.0 / (step + 1):.4f}", flush=True)
"""
OF_RANKS = ("rank_stopped", "rank_imbalance", "stragglers")


def record(home: Home, *command: str) -> dict[int, Any]:
    """Start a recorder for every rank."""
    places = [{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "4"} for rank in range(4)]
    words = (
        "-q",
        "--job-id",
        "training",
        "--sample-interval",
        "0.2",
        "--report-interval",
        "1",
        "--capture",
        "all",
    )
    return {
        rank: home.start(*words, sys.executable, *command, env=home.environ(**place))
        for rank, place in enumerate(places)
    }


def findings(home: Home, ref: str) -> list[dict[str, Any]]:
    answer = jobmeter(home.path, "analyze", ref, "--json")
    assert answer.code == 0, answer.complaint
    return [one for one in json.loads(answer.text)["findings"] if one["detector"] in OF_RANKS]


def check_all_say_the_same(home: Home) -> dict[str, dict[str, Any]]:
    told = findings(home, "training")
    for folder in home.folders():
        assert findings(home, folder.name) == told
    return {one["detector"]: one for one in told}


def test_a_slow_rank_and_one_that_dies(home: Home, tmp_path: Path) -> None:
    script = tmp_path / "rank.py"
    script.write_text(FREE)
    codes = {rank: home.finish(one, 60).code for rank, one in record(home, str(script)).items()}
    assert codes == {0: 0, 1: 7, 2: 0, 3: 0}
    told = check_all_say_the_same(home)
    stopped = told["rank_stopped"]
    assert (stopped["severity"], stopped["rank"]) == ("critical", 1)
    figures = stopped["figures"]
    assert (figures["last_step"], figures["behind_steps"], figures["exit_code"]) == (20, 19, 7)
    slow = told["stragglers"]
    assert (slow["severity"], slow["rank"], slow["figures"]["rank_count"]) == ("warning", 2, 3)
    assert slow["figures"]["relative"] == pytest.approx(1.8, rel=0.1)
    # 39 steps that each took 40 ms longer than those of the others
    assert slow["figures"]["lost_seconds"] == pytest.approx(39 * 0.04, rel=0.2)
    assert slow["figures"]["lost_ratio"] == pytest.approx(4 / 9, rel=0.2)
    waits = told["rank_imbalance"]
    assert (waits["rank"], waits["key"]) == (2, "data_seconds")
    assert waits["figures"]["largest"] == pytest.approx(0.045)


def test_who_did_not_come_while_the_others_waited(home: Home, tmp_path: Path) -> None:
    script, meeting = tmp_path / "rank.py", tmp_path / "meeting"
    script.write_text(TOGETHER)
    meeting.mkdir()
    started = record(home, str(script), str(meeting))
    home.finish(started[1], 60)
    (meeting / "lost").touch()
    codes = {rank: home.finish(one, 60).code for rank, one in started.items() if rank != 1}
    assert codes == {0: 1, 2: 1, 3: 1}
    assert len(home.folders()) == 4
    stopped = check_all_say_the_same(home)["rank_stopped"]
    assert (stopped["rank"], stopped["figures"]["signal"]) == (1, "SIGKILL")
    # in step with the others it told the same last step
    assert (stopped["figures"]["last_step"], stopped["figures"]["behind_steps"]) == (14, 0)
    assert "it told step 14 last and was ended by SIGKILL" in stopped["sentence"]
