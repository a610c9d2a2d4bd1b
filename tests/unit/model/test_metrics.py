"""One table of what the names of training tools mean."""

import pytest

from jobmeter.model import metrics


@pytest.mark.parametrize(
    ("name", "quantity"),
    [
        ("loss", "loss"),
        ("train_loss", "loss"),
        ("Train Loss", "loss"),
        ("train/loss", "loss"),
        ("lm loss", "loss"),
        ("avr_loss", "loss"),
        ("val_loss", "eval_loss"),
        ("validation lm loss value", "eval_loss"),
        ("Test average loss", "eval_loss"),
        ("Average Test Loss", "eval_loss"),
        ("loss/val", "eval_loss"),
        ("avg_val_loss", "eval_loss"),
        ("learning_rate", "lr"),
        ("learning rate", "lr"),
        ("LR", "lr"),
        ("grad norm", "grad_norm"),
        ("gnorm", "grad_norm"),
        ("elapsed time per iteration (ms)", "step_seconds"),
        ("time_ms", "step_seconds"),
        ("s/it", "step_seconds"),
        ("it/s", "steps_per_second"),
        ("CurrSamplesPerSec", "samples_per_second"),
        ("wps", "tokens_per_second"),
        ("consumed samples", "samples"),
        ("num_tokens", "tokens"),
        ("global batch size", "batch_size"),
        ("eval_accuracy", "eval_accuracy"),
        ("mfu_percent", "mfu"),
        ("loss scale", "loss_scale"),
    ],
)
def test_names_of_tools_stand_for_quantities(name: str, quantity: str) -> None:
    assert metrics.canonical(name) == quantity
    assert metrics.is_known(name)


def test_a_name_nobody_knows_stays_itself():
    assert metrics.canonical("completions/mean_length") == "completions/mean_length"
    assert not metrics.is_known("completions/mean_length")


def test_values_are_scaled_to_base_units():
    assert metrics.in_base_units("elapsed time per iteration (ms)", 300.0) == pytest.approx(0.3)
    assert metrics.in_base_units("Acc@1", 70.0) == pytest.approx(0.7)
    assert metrics.in_base_units("GPU_mem_G", 2.0) == 2147483648.0
    assert metrics.in_base_units("loss", 0.5) == 0.5
    assert metrics.in_base_units("unheard of", 0.5) == 0.5


def test_parts_of_a_loss_are_losses_but_settings_are_not():
    assert all(map(metrics.is_loss, ("CeLoss", "loss_box_reg", "D loss", "nll_loss", "box_loss", "loss1")))
    assert not any(map(metrics.is_loss, ("loss_scale", "loss scale", "loss_weight", "lr", "lossless ratio")))


def test_the_loss_of_a_training_is_picked_among_its_metrics():
    assert metrics.pick(["CeLoss", "Loss", "MaskLoss"], "loss") == "Loss"
    assert metrics.pick(["Train MSE Loss", "lr"], "loss") == "Train MSE Loss"
    assert metrics.pick(["D loss", "G loss"], "loss") is None
    assert metrics.pick(["val_mse_loss"], "loss") is None
    assert metrics.pick(["lr"], "grad_norm") is None


def test_an_evaluation_is_told_by_its_name():
    assert metrics.is_evaluation("val/acc")
    assert not metrics.is_evaluation("value_loss")


def test_a_loss_of_an_evaluation_is_never_the_loss_of_the_training():
    assert all(
        map(metrics.is_evaluation, ("Initial validation loss", "best_val_loss", "loss_dev", "val/box_loss"))
    )
    assert not any(map(metrics.is_evaluation, ("value_loss", "train_loss", "latest loss", "interval loss")))
    assert metrics.pick(["Initial validation loss"], "loss") is None
