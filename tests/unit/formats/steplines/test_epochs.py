"""Steps that count on over epochs, and what a bar shows that is not of its step."""

import json
import math

from jobmeter.formats import steplines
from support import logtext


def drawn(epoch: int, position: int, shown: str, total: int = 4) -> str:
    percent = 100 * position // total
    return f"\rEpoch {epoch}: {percent:3d}%|{'#' * position:4}| {position}/{total} [00:01<00:02,  9.00it/s, {shown}]"


def test_bars_named_epoch_0_are_of_one_family_over_all_epochs():
    text = "".join(drawn(epoch, at, f"loss=0.{epoch}{at}") for epoch in (0, 1) for at in (1, 4))
    assert [(family, step, metrics["loss"]) for family, step, metrics in logtext.rows(text)] == [
        ("tqdm", 1, 0.01),
        ("tqdm", 4, 0.04),
        ("tqdm", 5, 0.11),
        ("tqdm", 8, 0.14),
    ]


def test_a_bar_drawn_at_0_does_not_replace_the_last_step_of_the_epoch_before():
    text = drawn(1, 4, "loss=0.4") + drawn(2, 0, "loss=0.4") + drawn(2, 1, "loss=0.3")
    assert [(step, metrics["epoch"], metrics["loss"]) for _, step, metrics in logtext.rows(text)] == [
        (4, 1, 0.4),
        (5, 2, 0.3),
    ]


def test_a_lap_that_begins_does_not_replace_the_last_step_of_the_lap_before():
    text = "".join(
        f"\rtrain: {25 * at:3d}%|{'#' * at:4}| {at}/4 [00:01<00:02,  9.00it/s, loss=0.{lap}{at}]"
        for lap in (1, 2)
        for at in range(5)
    )
    assert [(step, metrics["loss"]) for _, step, metrics in logtext.rows(text)][4:6] == [(4, 0.14), (5, 0.21)]


def test_a_validation_that_stays_on_the_bar_is_told_once():
    text = (
        drawn(0, 4, "v_num=0, train_loss=0.5")
        + drawn(0, 4, "v_num=0, train_loss=0.5, val_loss=0.9")
        + drawn(0, 4, "v_num=0, train_loss=0.5, val_loss=0.9")
        + drawn(1, 1, "v_num=0, train_loss=0.4, val_loss=0.9")
        + drawn(1, 4, "v_num=0, train_loss=0.3, val_loss=0.9")
        + drawn(1, 4, "v_num=0, train_loss=0.3, val_loss=0.8")
    )
    told = [(step, metrics.get("val_loss")) for _, step, metrics in logtext.rows(text)]
    assert told == [(3, 0.9), (4, None), (7, 0.8)]


def test_a_validation_that_is_nan_is_told_once_even_by_another_reader():
    first, then = (drawn(0, 4, "v_num=0, val_loss=nan"), drawn(1, 1, "v_num=0, val_loss=nan") + "\n")
    reader = steplines.LogReader()
    reader.feed(first.encode() + b"\r", logtext.unknown, 0)
    state = json.loads(json.dumps(reader.state(), allow_nan=False))
    position, reader = reader.consumed, steplines.LogReader(state)
    reader.feed(then.encode(), logtext.unknown, position, final=True)
    steps = reader.take()[0]
    assert [step.step for step in steps] == [3, 4]
    assert math.isnan(steps[0].metrics["val_loss"])
    assert "val_loss" not in steps[1].metrics


def test_the_first_drawing_of_lightning_does_not_show_its_version_yet():
    text = (
        "\rEpoch 0:  25%|#   | 1/4 [00:01<00:02,  9.00it/s]"
        + drawn(0, 1, "v_num=0, train_loss=0.5")
        + drawn(0, 2, "v_num=0, train_loss=0.4")
    )
    assert [(family, step, metrics.get("train_loss")) for family, step, metrics in logtext.rows(text)] == [
        ("lightning", 0, 0.5),
        ("lightning", 1, 0.4),
    ]


def test_an_evaluation_after_the_training_belongs_to_its_last_step():
    wiped = "\r" + " " * 40 + "\r"
    text = (
        "\r100%|####| 20/20 [00:02<00:00,  9.10it/s]"
        + wiped
        + "{'loss': 0.5, 'learning_rate': 5e-05, 'epoch': 1.0}\n"
        + "\r100%|####| 20/20 [00:02<00:00,  9.10it/s]"
        + wiped
        + "{'train_runtime': 2.2, 'train_loss': 0.45, 'epoch': 1.0}\n"
        + "\r100%|####| 20/20 [00:02<00:00,  9.10it/s]\n"
        + "\r  0%|    | 0/4 [00:00<?, ?it/s]\r100%|####| 4/4 [00:00<00:00, 20.0it/s]\n"
        + "{'eval_loss': 0.45, 'eval_runtime': 3.1, 'epoch': 1.0}\n"
    )
    assert [(step, next(iter(metrics))) for _, step, metrics in logtext.rows(text)] == [
        (20, "loss"),
        (20, "eval_loss"),
    ]


def test_a_second_training_after_the_summary_has_its_own_bar():
    wiped = "\r" + " " * 40 + "\r"
    text = (
        "\r100%|####| 20/20 [00:02<00:00,  9.10it/s]"
        + wiped
        + "{'train_runtime': 2.2, 'train_loss': 0.45, 'epoch': 1.0}\n"
        + "\r100%|####| 20/20 [00:02<00:00,  9.10it/s]\n"
        + "\r  0%|    | 0/8 [00:00<?, ?it/s]"
        + wiped
        + "{'loss': 0.5, 'learning_rate': 5e-05, 'epoch': 0.5}\n"
        + "\r 50%|##  | 4/8 [00:01<00:01,  9.10it/s]"
    )
    assert [step for _, step, _ in logtext.rows(text)] == [4]


def test_the_language_model_of_pytorch():
    text = (
        "| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 12.30 | loss  7.62 | ppl  2040.11\n"
        "| epoch   2 |   400/ 2983 batches | lr 5.00 | ms/batch 11.90 | loss  5.02 | ppl   151.41\n"
        + "-" * 89
        + "\n| end of epoch   2 | time: 40.10s | valid loss  5.78 | valid ppl   322.92\n"
        + "=" * 89
        + "\n| End of training | test loss  4.96 | test ppl   142.31\n"
    )
    assert logtext.rows(text) == [
        ("examples", 200, {"lr": 20.0, "ms/batch": 12.3, "loss": 7.62, "ppl": 2040.11, "epoch": 1}),
        ("examples", 3383, {"lr": 5.0, "ms/batch": 11.9, "loss": 5.02, "ppl": 151.41, "epoch": 2}),
        ("examples", 5966, {"time_s": 40.1, "valid loss": 5.78, "valid ppl": 322.92}),
        ("examples", 5966, {"test loss": 4.96, "test ppl": 142.31}),
    ]


def test_steps_over_epochs_of_unknown_size_are_told_as_such():
    reader = steplines.LogReader()
    reader.feed(b"[1,  2000] loss: 2.173\n[1,  4000] loss: 1.853\n", logtext.unknown, 0)
    assert not reader.guessed_sizes
    reader.feed(b"[2,  2000] loss: 1.173\n", logtext.unknown, reader.consumed, final=True)
    assert [step.step for step in reader.take()[0]] == [2000, 4000, 6000]
    assert reader.guessed_sizes
