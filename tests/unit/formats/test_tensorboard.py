"""TensorBoard event files byte by byte: every form of scalar, damage, files of one process."""

import math
import struct
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.formats import tensorboard
from jobmeter.model.imported import Imported
from support.protowrite import (
    VERSION_EVENT,
    chunk,
    double,
    number,
    scalar_event,
    single,
    tensor_event,
    tfrecord,
    varint,
)


def put(path: Path, *events: bytes) -> Path:
    path.write_bytes(VERSION_EVENT + b"".join(events))
    return path


def read(path: Path) -> Imported:
    (run,) = tensorboard.parse(path)
    return run


def tensor(kind: int, rest: bytes, shape: bytes = b"") -> bytes:
    return number(1, kind) + chunk(2, shape) + rest


def test_scalars_of_one_step_are_one_row_with_the_time_of_the_first(tmp_path: Path) -> None:
    path = put(
        tmp_path / "e",
        scalar_event(1700000001.5, 1, loss=0.5),
        scalar_event(1700000001.75, 1, lr=0.25),
        scalar_event(1700000002.0, 2, loss=float("nan"), lr=math.inf),
    )
    run = read(path)
    first, second = run.steps
    assert (first.step, first.timestamp, first.metrics) == (1, 1700000001.5, {"loss": 0.5, "lr": 0.25})
    assert math.isnan(second.metrics["loss"])
    assert second.metrics["lr"] == math.inf
    assert run.run.started_at == 1700000000.0


def test_a_step_that_goes_back_and_a_tag_logged_twice_are_rows_of_their_own(tmp_path: Path) -> None:
    events = [scalar_event(1700000001.0 + n, step, loss=n) for n, step in enumerate((5, 6, 6, 2))]
    assert [(step.step, step.metrics["loss"]) for step in read(put(tmp_path / "e", *events)).steps] == [
        (5, 0.0),
        (6, 1.0),
        (6, 2.0),
        (2, 3.0),
    ]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (tensor(1, chunk(4, struct.pack("<f", 0.5))), 0.5),
        (tensor(1, single(5, 0.25)), 0.25),
        (tensor(1, chunk(5, struct.pack("<f", 0.125))), 0.125),
        (tensor(2, double(6, 0.1)), 0.1),
        (tensor(3, number(7, -3)), -3),
        (tensor(9, chunk(10, varint(2**60 + 1))), 2**60 + 1),
        (tensor(9, chunk(4, struct.pack("<q", -(2**60) - 1))), -(2**60) - 1),
        (tensor(19, number(13, 0x3C00)), 1.0),
        (tensor(1, chunk(4, struct.pack("<f", 2.0)), chunk(2, number(1, 1))), 2.0),
    ],
)
def test_a_tensor_of_one_element_is_a_scalar(tmp_path: Path, written: bytes, value: float) -> None:
    (step,) = read(put(tmp_path / "e", tensor_event(1700000001.0, 3, "x", written))).steps
    assert step.metrics == {"x": value}


def test_a_tensor_of_many_elements_and_a_text_are_no_scalars(tmp_path: Path) -> None:
    many = tensor(1, chunk(4, struct.pack("<2f", 1, 2)), chunk(2, number(1, 2)))
    text = tensor(7, chunk(8, "hello"))
    path = put(tmp_path / "e", tensor_event(1.0, 0, "many", many), tensor_event(1.0, 0, "note", text))
    with pytest.raises(UsageError, match="no scalar in it, only texts"):
        tensorboard.parse(path)


def test_arguments_logged_as_text_and_hparams_become_the_config(tmp_path: Path) -> None:
    pairs = chunk(1, chunk(1, "depth") + chunk(2, double(2, 4.0))) + chunk(
        1, chunk(1, "act") + chunk(2, chunk(3, "relu"))
    )
    hparams = chunk(1, chunk(1, "hparams") + chunk(2, chunk(3, pairs)))
    path = put(
        tmp_path / "e",
        tensor_event(1700000001.0, 0, "args/text_summary", tensor(7, chunk(8, '{"learning_rate": 0.001}'))),
        tensor_event(1700000001.0, 0, "num_layers/text_summary", tensor(7, chunk(8, "24"))),
        tfrecord(double(1, 1700000001.0) + chunk(5, chunk(1, chunk(1, "_hparams_/s") + chunk(9, hparams)))),
        scalar_event(1700000001.0, 1, loss=0.5),
    )
    assert read(path).run.context["config"] == {
        "learning_rate": 0.001,
        "num_layers": "24",
        "depth": 4.0,
        "act": "relu",
    }


def test_the_place_holder_of_lightning_is_no_metric(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no scalar"):
        tensorboard.parse(put(tmp_path / "e", scalar_event(1700000001.0, 0, hp_metric=-1.0)))
    (step,) = read(put(tmp_path / "f", scalar_event(1700000001.0, 0, hp_metric=0.75))).steps
    assert step.metrics == {"hp_metric": 0.75}


def test_a_file_cut_anywhere_gives_the_records_before_the_cut(tmp_path: Path) -> None:
    events = [scalar_event(1700000000.0 + n, n, loss=n / 4) for n in range(1, 5)]
    whole = VERSION_EVENT + b"".join(events)
    path = tmp_path / "e"
    for size in range(len(VERSION_EVENT), len(whole)):
        path.write_bytes(whole[:size])
        complete = (size - len(VERSION_EVENT)) // len(events[0])
        if complete == 0:
            with pytest.raises(UsageError):
                tensorboard.parse(path)
            continue
        run = read(path)
        assert [step.step for step in run.steps] == list(range(1, complete + 1))
        at_a_border = (size - len(VERSION_EVENT)) % len(events[0]) == 0
        assert run.run.provenance.dropped == ({} if at_a_border else {"end_of_file": 1})


def test_a_flipped_bit_costs_one_record_in_its_bytes_and_the_rest_in_its_length(tmp_path: Path) -> None:
    events = [scalar_event(1700000000.0 + n, n, loss=n / 4) for n in range(1, 5)]
    for at, steps in ((20, [1, 3, 4]), (1, [1])):
        damaged = bytearray(events[1])
        damaged[at] ^= 0x10
        run = read(put(tmp_path / "e", events[0], bytes(damaged), *events[2:]))
        assert [step.step for step in run.steps] == steps
        assert run.run.provenance.dropped == {"records": 1}


def test_a_picture_is_passed_over_unread(tmp_path: Path) -> None:
    picture = tfrecord(
        double(1, 1700000001.0) + chunk(5, chunk(1, chunk(1, "img") + chunk(4, bytes(1 << 17))))
    )
    run = read(put(tmp_path / "e", picture, scalar_event(1700000002.0, 1, loss=0.5)))
    assert [step.metrics for step in run.steps] == [{"loss": 0.5}]
    assert run.run.provenance.dropped == {}


def test_two_files_of_one_process_are_one_run_and_of_two_processes_two(tmp_path: Path) -> None:
    train = put(
        tmp_path / "events.out.tfevents.1700000000.gpu-1.4711.0", scalar_event(1700000001.0, 1, loss=0.5)
    )
    evaluation = put(
        tmp_path / "events.out.tfevents.1700000900.gpu-1.4711.1", scalar_event(1700000901.0, 1, acc=0.5)
    )
    other = put(
        tmp_path / "events.out.tfevents.1700000000.gpu-1.4712.0", scalar_event(1700000001.0, 1, loss=0.75)
    )
    run = read(evaluation)
    assert run.sources == (train, evaluation)
    assert [step.metrics for step in run.steps] == [{"loss": 0.5}, {"acc": 0.5}]
    assert run.run.host == "gpu-1"
    assert read(train).run.run_id == run.run.run_id
    assert read(other).sources == (other,)


def test_two_lives_of_the_same_pid_are_two_runs(tmp_path: Path) -> None:
    first = put(tmp_path / "events.out.tfevents.1700000000.box.1.0", scalar_event(1700000001.0, 1, loss=0.5))
    put(tmp_path / "events.out.tfevents.1700009000.box.1.0", scalar_event(1700009001.0, 1, loss=0.5))
    assert read(first).sources == (first,)
