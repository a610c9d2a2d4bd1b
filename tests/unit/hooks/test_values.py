"""What a training script hands over becomes plain numbers and plain JSON, exactly, or is refused by name."""

import argparse
import enum
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from jobmeter.hooks import records, values


class Tensor:
    """What torch and jax have in common: one number behind `item`."""

    def __init__(self, held: object) -> None:
        self._held = held

    def item(self) -> object:
        if isinstance(self._held, list):
            raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar\nand more")
        return self._held


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (1, 1),
        (0.1, 0.1),
        (True, 1),
        (2**53 + 1, 9007199254740993),
        (-(2**70), -1180591620717411303424),
        (1e308, 1e308),
        (np.float32(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (np.int64(7), 7),
        (np.bool_(True), 1),
        (np.array(3.5), 3.5),
        (np.array([2.5]), 2.5),
        (Tensor(0.25), 0.25),
        (Tensor(True), 1),
        (Decimal("0.5"), 0.5),
    ],
)
def test_one_number_is_kept_exactly(given: object, kept: float) -> None:
    found = values.number(given)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("0.5", "the text '0.5' is not a number"),
        (None, "None is not a number"),
        ([1.0], "a list is not a number"),
        (1j, "a complex is not a number"),
        (10**400, "it is larger than any float"),
        (object(), "a object is not a number"),
        (
            np.array([1.0, 2.0]),
            "a ndarray is not one number (can only convert an array of size 1 to a Python scalar)",
        ),
        (
            Tensor([1, 2]),
            "a Tensor is not one number (a Tensor with 2 elements cannot be converted to Scalar)",
        ),
        (Tensor("x"), "a Tensor of the text 'x' is not a number"),
        (np.datetime64("2026-01-01"), "a datetime64 of a date is not a number"),
    ],
)
def test_what_is_no_number_is_refused_with_the_reason(given: object, reason: str) -> None:
    with pytest.raises(values.RefusedError) as refused:
        values.number(given)
    assert str(refused.value) == reason


def test_nested_metrics_are_joined_by_slashes_and_the_refused_named() -> None:
    refused: list[str] = []
    given = {"loss": 1.0, "eval": {"acc": 0.5, "by": {"class 1": 1}}, "note": "hi", ("a", 1): 2.0}
    found = values.metrics(given, lambda name, reason: refused.append(f"{name}: {reason}"))
    assert found == {"loss": 1.0, "eval/acc": 0.5, "eval/by/class 1": 1}
    assert refused == ["note: the text 'hi' is not a number", "('a', 1): its name is not a string"]


def test_metrics_nested_in_themselves_are_refused_once_and_end() -> None:
    given: dict[object, object] = {"loss": 1.0}
    given["again"] = given
    refused: list[str] = []
    found = values.metrics(given, lambda _name, reason: refused.append(str(reason)))
    assert found["loss"] == 1.0
    assert refused == ["it is nested too deeply"]


def test_half_a_surrogate_pair_in_a_name_can_be_written() -> None:
    assert values.metrics({"a\ud800": 1}, print) == {"a\\ud800": 1}  # type: ignore[arg-type]


@pytest.mark.parametrize(("given", "step"), [(5, 5), (np.int64(6), 6), (7.0, 7), (True, 1), (-3, -3)])
def test_a_whole_number_is_a_step(given: object, step: int) -> None:
    assert values.step(given) == step


@pytest.mark.parametrize("given", [0.5, float("nan"), float("inf"), "3", 2**63])
def test_anything_else_is_no_step(given: object) -> None:
    with pytest.raises(values.RefusedError):
        values.step(given)


class Colour(enum.Enum):
    RED = 1


@dataclass
class Optim:
    lr: float = 0.1
    betas: tuple[float, float] = (0.9, 0.999)


class Mapped:
    """A mapping that is no dict, as OmegaConf's."""

    def keys(self) -> list[str]:
        return ["depth"]

    def __getitem__(self, name: str) -> int:
        return 3


class Model:
    def to_dict(self) -> dict[str, object]:
        return {"layers": 12}


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("not today")


def test_a_config_of_any_make_becomes_plain_json() -> None:
    given = argparse.Namespace(
        optim=Optim(),
        model=Model(),
        omega=Mapped(),
        path=Path("/data/x"),
        seed=np.int64(3),
        lr=float("inf"),
        names={"b", "a"},
        extra=SimpleNamespace(k=None, flag=True),
        colour=Colour.RED,
        broken=Broken(),
    )
    assert records.document(given) == {
        "optim": {"lr": 0.1, "betas": [0.9, 0.999]},
        "model": {"layers": 12},
        "omega": {"depth": 3},
        "path": "/data/x",
        "seed": 3,
        "lr": "Infinity",
        "names": ["a", "b"],
        "extra": {"k": None, "flag": True},
        "colour": {"repr": "<Colour.RED: 1>"},
        "broken": {"repr": "<Broken>"},
    }


def test_a_config_that_holds_itself_ends() -> None:
    given: dict[str, object] = {"lr": 1}
    given["self"] = given
    assert "repr" in repr(records.document(given))


def test_secrets_of_a_config_are_hidden_by_name_and_by_shape() -> None:
    given = {
        "wandb": {"api_key": "abcdef0123456789"},
        "hub_token": "hf_abcdefghijklmnopqrstuvwxyz0123",
        "url": "postgres://u:hunter22@db/x",
        "pad_token": "<pad>",
        "tokenizer": "bert-base-uncased",
        "num_key_value_heads": 8,
    }
    assert records.document(given) == {
        "wandb": {"api_key": "[redacted]"},
        "hub_token": "[redacted]",
        "url": "postgres://u:[redacted]@db/x",
        "pad_token": "<pad>",
        "tokenizer": "bert-base-uncased",
        "num_key_value_heads": 8,
    }


def test_a_config_without_names_is_kept_whole() -> None:
    assert records.document([1, 2]) == {"config": [1, 2]}


def test_changes_of_a_told_dict_are_handed_on_once_each() -> None:
    changes: list[dict[str, object]] = []
    told = records.Told(changes.append)
    told["lr"] = 0.1
    told.batch = 8
    told.update({"a": 1}, b=2)
    told.update(argparse.Namespace(c=3))
    assert told.setdefault("lr", 0.5) == 0.1
    assert told.setdefault("d", 4) == 4
    assert changes == [{"lr": 0.1}, {"batch": 8}, {"a": 1, "b": 2}, {"c": 3}, {"d": 4}]
    assert (told.lr, told["batch"]) == (0.1, 8)
    with pytest.raises(AttributeError):
        _ = told.missing


def test_a_copy_of_a_told_dict_tells_nobody() -> None:
    import copy

    told = records.Told(lambda _changes: None)
    told.update(a=[1])
    assert copy.deepcopy(told) == {"a": [1]}
    assert type(copy.deepcopy(told)) is dict
