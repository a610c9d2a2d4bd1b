"""What happened becomes marks that a person can read at a glance."""

import pytest
from tests.support import views
from tests.support.views import event

from jobmeter.service import plotting


@pytest.mark.parametrize(
    ("kind", "details", "label", "severe"),
    [
        ("checkpoint", {"path": "ckpt/step-100", "step": 100}, "checkpoint", False),
        ("batch_size_changed", {"from": 32, "to": 16}, "batch size 32 to 16", False),
        ("batch_size_changed", {"from": 32, "batch_size": 16}, "batch size 32 to 16", False),
        ("batch_size_changed", {"batch_size": 16}, "batch size 16", False),
        ("batch_size_changed", {}, "batch size changed", False),
        ("alert", {"title": "loss is flat", "text": "...", "level": "WARN"}, "alert loss is flat", True),
        ("oom", {"device": "cuda"}, "OOM", True),
        ("oom_kill", {}, "OOM kill", True),
        ("gpu_error", {"device": "0 H200", "xid": 79}, "gpu error", True),
    ],
)
def test_an_event_is_named_in_a_few_words(
    kind: str, details: dict[str, object], label: str, severe: bool
) -> None:
    found = views.view(list(views.build_run().series.values()), events=[event(2, kind, **details)])
    assert [(mark.label, mark.severe) for mark in plotting.describe(found).marks] == [(label, severe)]


def test_what_a_training_says_of_itself_as_a_whole_is_no_moment() -> None:
    found = views.view(list(views.build_run().series.values()), events=[event(4, "summary", train_loss=2.0)])
    assert plotting.describe(found).marks == ()


def test_a_checkpoint_told_twice_is_marked_once() -> None:
    events = [event(2, "checkpoint", step=6, clock="x"), event(2.5, "checkpoint", step=6)]
    found = views.view(list(views.build_run().series.values()), events=events)
    assert [(mark.label, mark.seconds) for mark in plotting.describe(found).marks] == [("checkpoint", 2.0)]
