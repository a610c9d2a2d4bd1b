"""A bare PyTorch loop against the numbers it kept itself."""

from collections.abc import Callable

import pytest

from support.frameworks import Training

Train = Callable[..., Training]


def own(training: Training, metric: str) -> dict[int, float]:
    return {int(row["step"]): float(row[metric]) for row in training.rows("own.csv")}


@pytest.fixture(scope="module")
def watched(train: Train) -> Training:
    return train("torch_loop", "watch")


@pytest.mark.parametrize("metric", ["loss", "lr", "samples_per_second"])
def test_a_watched_loop_tells_its_own_numbers(watched: Training, metric: str) -> None:
    assert watched.series(metric) == own(watched, metric)


def test_every_optimizer_step_is_timed_and_its_samples_counted(watched: Training) -> None:
    assert list(watched.series("step_seconds")) == list(range(20))
    assert set(watched.series("batch_size").values()) == {8}
    assert min(watched.series("grad_norm").values()) > 0


def test_a_compiled_model_is_watched_from_outside_its_graph(train: Train) -> None:
    assert train("compiled_loop", "early").series("batch_size") == {0: 8, 1: 8, 2: 8}


def test_a_model_compiled_after_it_was_watched_keeps_its_graph_whole(train: Train) -> None:
    late = train("compiled_loop", "late")
    assert list(late.series("step_seconds")) == [0, 1, 2]
    assert late.series("batch_size") == {}
