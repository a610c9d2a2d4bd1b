"""How long the process beside a run tries to reach a server after the end."""

from pathlib import Path

from jobmeter.delivery import wire
from jobmeter.delivery.push_task import PushTask
from support import folders


def test_a_server_that_was_never_there_is_tried_three_times_after_the_end(tmp_path: Path) -> None:
    (run_id,) = folders.write_many(tmp_path, 1)
    (folder,) = tmp_path.glob(f"runs/*/{run_id}")
    task = PushTask(folder, wire.target("http://127.0.0.1:1", "token", plain_allowed=True), 10.0)
    assert task.turn(ended=False) is not None
    waits = [task.turn(ended=True) for _ in range(3)]
    assert [wait is None for wait in waits] == [False, False, True]
