"""kill -9 of the training, of its recorder, or of both, at random: nothing that was logged is lost."""

import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from jobmeter.runfolder import reader
from support.recorder import Home, lines, merged, only_folder, wait_for
from support.training import script, steps

TRAINING = """
import os, time
run = jobmeter.init(project="p", config={"lr": 0.1})
step = 0
while True:
    run.log({"loss": 1.0 / (step + 1), "lr": 0.1})
    os.write(1, b"%d\\n" % step)
    step += 1
    time.sleep(0.001)
"""


@dataclass(frozen=True, slots=True)
class Case:
    """Who is killed, and when."""

    number: int
    delay: float
    victims: tuple[str, ...]


def cases(count: int) -> list[Case]:
    """Draw who dies when: from before the first step to long after."""
    rng = random.Random(20261115)
    kinds = (("training",), ("recorder", "training"), ("training", "recorder"))
    return [Case(number, rng.uniform(0.05, 0.4), rng.choice(kinds)) for number in range(count)]


def kill_recorder(folder: Path, training: int) -> bool:
    """Kill the recorder if it has begun; it is not our child."""
    recorder = [record["recorder"]["pid"] for record in lines(folder / "run.jsonl") if "recorder" in record][
        -1
    ]
    if recorder == training:
        return False
    os.kill(recorder, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{recorder}").exists())
    return True


def last_acknowledged(logged: bytes) -> int:
    """Give the last step whose `log` had returned; -1 where none had."""
    whole = logged[: logged.rfind(b"\n") + 1].splitlines()
    return int(whole[-1]) if whole else -1


def run_and_kill(case: Case, place: Path) -> str:
    home = Home(place / f"home{case.number}", traced=False)
    log = place / f"log{case.number}"
    with log.open("wb") as out:
        process = subprocess.Popen(script(TRAINING), env=home.environ(), stdout=out)
    wait_for(lambda: list(home.path.glob("runs/*/*/run.jsonl")))
    folder = only_folder(home.path)
    time.sleep(case.delay)
    recorder_killed = False
    for victim in case.victims:
        if victim == "training":
            process.kill()
            process.wait()
        else:
            try:
                recorder_killed = kill_recorder(folder, process.pid)
            except ProcessLookupError:
                continue  # it had ended by itself: the training was killed first
    if not recorder_killed:
        wait_for(lambda: merged(folder).get("type") == "end")
    found = steps(folder)
    assert [record["step"] for record in found] == list(range(len(found)))
    assert len(found) > last_acknowledged(log.read_bytes())
    return reader.read_run(folder).status.value


def test_a_hundred_kills_lose_no_step_and_leave_no_unreadable_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda case: run_and_kill(case, tmp_path), cases(100)))
    assert set(ends) <= {"killed", "lost"}
    assert ends.count("killed") >= 30  # the recorder lived, and saw how the training ended
    assert ends.count("lost") >= 10  # it did not
