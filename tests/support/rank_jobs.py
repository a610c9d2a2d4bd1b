"""A training of four ranks as a launcher starts it: rank 2 is slow, rank 1 holds most memory, rank 3 never comes."""

LAUNCHER = """
import os, subprocess, sys
given = {"WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1"}
ranks = [
    subprocess.Popen([sys.executable, *sys.argv[1:]], env=os.environ | given | {"RANK": str(n), "LOCAL_RANK": str(n)})
    for n in range(3)
]
sys.exit(max(rank.wait() for rank in ranks))
"""
"""Starts the script that it is given, with the words behind it."""
RANK = """
import itertools, os, sys, time
from pathlib import Path
import jobmeter

rank = int(os.environ["RANK"])
pause = 0.2 if rank == 2 else 0.1
held = bytearray(b"x") * ((100 if rank == 1 else 10) << 20)
run = jobmeter.init(project="ranks", config={"lr": 1e-3, "max_steps": 20000})
due = time.monotonic()
for step in itertools.count():
    due += pause  # by the clock: a machine that is busy makes no rank slower than another
    time.sleep(max(0.0, due - time.monotonic()))
    run.log({"loss": 0.5 + abs(step - 17) / 10, "tokens_per_second": 2000.0 / pause}, step=step)
    if Path(sys.argv[1]).exists() if sys.argv[1:] else step == 24:
        break
run.finish()
"""
"""Takes 25 steps, or as many as there is time for until the file exists that it is given."""
