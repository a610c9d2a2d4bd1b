"""What callbacks share: the size of a batch, the clock of steps, the run they write to."""

from pathlib import Path

import numpy as np
import pytest

from jobmeter import hooks
from jobmeter.hooks import framework
from support import recorder

TWELVE = np.zeros((12, 3))


class Odd:
    """A batch of a script's own class, whose attributes are not what their names promise."""

    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)

    def __repr__(self) -> str:
        return f"Odd({', '.join(self.__dict__)})"


@pytest.mark.parametrize(
    ("batch", "samples"),
    [
        (TWELVE, 12),
        ([TWELVE, np.zeros(5)], 12),
        ({"names": ["a", "b"], "inputs": TWELVE}, 12),
        ((((), {"inputs": TWELVE}),), 12),
        (np.float32(1), None),
        ("text", None),
        (["a", 3, None], None),
        ([[[[[TWELVE]]]]], None),
        ({}, None),
        (Odd(shape=7), None),
        (Odd(shape=(None, 3)), None),
        (Odd(shape=lambda: (12, 3)), None),
        (Odd(shape=[]), None),
        (Odd(shape={"rows": 3}), None),
        (Odd(values=TWELVE), None),
        ([Odd(values=TWELVE), TWELVE], 12),
    ],
)
def test_a_batch_is_as_large_as_its_first_tensor(batch: object, samples: int | None) -> None:
    assert framework.batch_length(batch) == samples


def test_data_seconds_are_those_before_the_first_batch_of_a_step() -> None:
    clock = framework.StepClock()
    clock.data_ready()
    first = clock.lap()
    clock.restart()
    second = clock.lap()
    assert list(first) == ["step_seconds", "data_seconds"]
    assert list(second) == ["step_seconds"]


def test_a_callback_writes_to_the_run_that_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBMETER_HOME", str(tmp_path / "home"))
    assert not framework.has_run(None)
    with hooks.init(project="mine", config={"rate": 0.1}) as run:
        assert framework.has_run(None)
        assert framework.open_run(None, config={"layers": 2}, project="another") is run
        assert framework.open_run(run) is run
        assert dict(run.config) == {"rate": 0.1, "layers": 2}
    said = recorder.lines(run.folder / "sdk.jsonl")
    assert [line["config"] for line in said if "config" in line] == [{"rate": 0.1}, {"layers": 2}]


def test_a_callback_opens_a_run_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBMETER_HOME", str(tmp_path / "home"))
    with framework.open_run(None, config={"layers": 2}, project="another") as run:
        assert hooks.active_run() is run
        assert (run.project, dict(run.config)) == ("another", {"layers": 2})
