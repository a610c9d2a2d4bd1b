"""Roles of processes by names and command lines as real training jobs have them."""

import pytest

from jobmeter.model.roles import MAIN, OTHER, WORKER, Known, role

TRAIN = "/opt/conda/bin/python train.py --batch 8"
LOOP = Known(TRAIN, MAIN)
SHELL = Known("sh -c python train.py", None)
SPAWN = (
    "/usr/bin/python3 -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7) "
    "--multiprocessing-fork"
)
TRACKER = "/usr/bin/python3 -c from multiprocessing.resource_tracker import main;main(4)"
SERVER = "/usr/bin/python3 -c from multiprocessing.forkserver import main; main(6, 7)"

COMPILER = "/usr/bin/python /opt/torch/_inductor/compile_worker/__main__.py --pickler=torch --kind=fork"


@pytest.mark.parametrize(
    ("name", "line", "parent", "expected"),
    [
        ("python", TRAIN, None, MAIN),
        ("python", TRAIN, SHELL, MAIN),
        ("python3.11", TRAIN, Known("/usr/bin/python /usr/bin/torchrun --nproc 2 train.py", OTHER), MAIN),
        ("pt_main_thread", TRAIN, None, MAIN),
        ("my-title", "/usr/bin/python3 train.py", None, MAIN),
        ("python", TRAIN, LOOP, WORKER),
        ("pt_data_worker", TRAIN, LOOP, WORKER),
        ("python", SPAWN, LOOP, WORKER),
        ("python3", SERVER, Known(SERVER, OTHER), WORKER),
        ("python", TRAIN, Known(TRAIN, WORKER), WORKER),
        ("python", TRACKER, LOOP, OTHER),
        ("python3", SERVER, LOOP, OTHER),
        ("python", COMPILER, LOOP, OTHER),
        ("python", COMPILER, Known(COMPILER, OTHER), OTHER),
        ("python", "/usr/bin/python compile.py", LOOP, OTHER),
        ("torchrun", "/usr/bin/python /usr/bin/torchrun --nproc-per-node 2 train.py", None, OTHER),
        ("git", "git rev-parse HEAD", LOOP, None),
        ("cc1plus", "cc1plus -quiet x.cc", None, None),
    ],
)
def test_what_a_process_does(name: str, line: str, parent: Known | None, expected: str | None) -> None:
    assert role(name, line, parent) == expected
