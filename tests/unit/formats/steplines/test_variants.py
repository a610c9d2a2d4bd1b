"""Lines of many tools and of several releases of each; expected values are read off the line by eye."""

import pytest

from support import logtext

Rows = list[tuple[str, int, dict[str, float]]]

ONE_ROW = {
    "xgboost": (
        "[10]\ttrain-rmse:0.38\ttest-rmse:0.40",
        ("trees", 10, {"train-rmse": 0.38, "test-rmse": 0.4}),
    ),
    "xgboost, its own clock": (
        "[12:00:00] [0]\ttrain-auc:0.9\teval-auc:0.8",
        ("trees", 0, {"train-auc": 0.9, "eval-auc": 0.8}),
    ),
    "xgboost, cross-validated": (
        "[3]\ttrain-rmse:0.48+0.01\ttest-rmse:0.49+0.02",
        ("trees", 3, {"train-rmse": 0.48, "test-rmse": 0.49}),
    ),
    "lightgbm": (
        "[20]\ttraining's binary_logloss: 0.5\tvalid_1's l2: 0.6",
        ("trees", 20, {"training_binary_logloss": 0.5, "valid_1_l2": 0.6}),
    ),
    "lightgbm, cross-validated": ("[10]\tcv_agg's auc: 0.81 + 0.01", ("trees", 10, {"cv_agg_auc": 0.81})),
    "catboost": (
        "100:\tlearn: 0.5543\ttest: 0.5512\tbest: 0.5512 (100)\ttotal: 6.1s\tremaining: 55s",
        ("trees", 100, {"learn": 0.5543, "test": 0.5512}),
    ),
    "catboost without a test": (
        "7:\tlearn: 0.6543\ttotal: 60.1ms\tremaining: 1m",
        ("trees", 7, {"learn": 0.6543}),
    ),
    "fairseq before 0.9": (
        "| epoch 001:    100 / 1000 loss=8.123, ppl=240.1, num_updates=101, lr=1.25e-05, gnorm=3.2",
        ("fairseq", 101, {"loss": 8.123, "ppl": 240.1, "lr": 1.25e-05, "gnorm": 3.2, "epoch": 1}),
    ),
    "fairseq before 0.9, validation": (
        "| epoch 001 | valid on 'valid' subset | loss 7.1 | ppl 120.1 | num_updates 1000",
        ("fairseq", 1000, {"valid_loss": 7.1, "valid_ppl": 120.1, "epoch": 1}),
    ),
    "mmcv validation": (
        "2021-03-01 10:00:00,1 - mmdet - INFO - Epoch(val) [1][5000]\tbbox_mAP: 0.341, bbox_mAP_copypaste: 0.3 0.5 0.2",
        ("mmengine", 1, {"val/bbox_mAP": 0.341}),
    ),
    "nanochat": (
        "Step 00250 | Validation bpb: 1.2345",
        ("generic", 250, {"Validation bpb": 1.2345}),
    ),
    "NeMo, a bar without a rate": (
        "Epoch 0: :   0%|   | 10/10000 [00:30<8:20:00, v_num=1, reduced_train_loss=10.10, global_step=9.000]",
        ("lightning", 9, {"reduced_train_loss": 10.1, "epoch": 0}),
    ),
    "a bar without a rate and one metric": (
        "train:   1%|   | 10/1000 [00:30<8:20:00, loss=0.5]",
        ("tqdm", 10, {"loss": 0.5}),
    ),
    "CLU": (
        "I0501 10:00:00.123456 140 logging_writer.py:48] [100] loss=5.123, learning_rate=0.01",
        ("examples", 100, {"loss": 5.123, "learning_rate": 0.01}),
    ),
    "icefall": (
        "Epoch 1, batch 50, loss[loss=1.234, over 1234. frames.], tot_loss[loss=1.5, over 9876. frames.], lr: 3.00e-03",
        (
            "examples",
            50,
            {"loss": 1.234, "lr": 3e-3, "epoch": 1, "batch": 50},
        ),
    ),
    "Swin's test": (
        "[2021-05-01 10:00:00 swin] (main.py 300): INFO  * Acc@1 78.1 Acc@5 94.2",
        ("meters", 1, {"test Acc@1": 78.1, "test Acc@5": 94.2}),
    ),
    "DeepSpeed-Chat": ("Epoch 1/2 with loss 0.52", ("generic", 1, {"loss": 0.52})),
    "loguru": (
        "2024-05-01 10:00:00.123 | INFO     | train:main:42 - step 10 | loss 0.5",
        ("generic", 10, {"loss": 0.5}),
    ),
    "llama.cpp, times of day are no numbers": (
        "train_opt_callback: iter=    10 sample=11/100 sched=0.1 loss=2.345 dt=00:00:12 eta=00:10:00",
        ("generic", 10, {"sample": 11, "sched": 0.1, "loss": 2.345}),
    ),
    "mlx": (
        "Iter 10: Train loss 2.345, Learning Rate 1.000e-05, It/sec 1.234, Tokens/sec 567.8, Trained Tokens 4567",
        ("generic", 10, {"Train loss": 2.345, "Learning Rate": 1e-05, "It/sec": 1.234, "Tokens/sec": 567.8}),
    ),
    "an index is no metric": (
        "Epoch: 1, Batch idx: 10, Loss: 0.5",
        ("generic", 1, {"Loss": 0.5, "epoch": 1, "batch": 10}),
    ),
    "torchtitan": (
        "[titan] 2025-05-01 10:00:00,123 - root - INFO - step:  1  loss: 12.2361  tps: 1,500  mfu: 0.92%",
        ("generic", 1, {"loss": 12.2361, "tps": 1500, "mfu_percent": 0.92}),
    ),
    "maxtext": (
        "completed step: 10, seconds: 1.234, TFLOP/s/device: 123.45, Tokens/s/device: 1234.5, loss: 9.123",
        (
            "generic",
            10,
            {"seconds": 1.234, "TFLOP/s/device": 123.45, "Tokens/s/device": 1234.5, "loss": 9.123},
        ),
    ),
    "flax": (
        "Step... (500 | Loss: 3.1234, Learning Rate: 0.0003)",
        ("generic", 500, {"Loss": 3.1234, "Learning Rate": 0.0003}),
    ),
    "verl": (
        "step:10 - actor/pg_loss:0.01 - timing_s/step:12.3",
        ("generic", 10, {"actor/pg_loss": 0.01, "timing_s/step": 12.3}),
    ),
    "scikit-learn": ("Iteration 2, loss = 0.65", ("generic", 2, {"loss": 0.65})),
    "TensorFlow's estimators": (
        "INFO:tensorflow:loss = 1.1, step = 101 (8.123 sec)",
        ("generic", 101, {"loss": 1.1}),
    ),
    "GANs": (
        "[Epoch 0/200] [Batch 10/938] [D loss: 0.69] [G loss: 0.70]",
        ("generic", 10, {"D loss": 0.69, "G loss": 0.7}),
    ),
}

HELD_BACK = {
    "[val] epoch 3 loss 0.5 acc 0.9": {"val loss": 0.5, "val acc": 0.9},
    "Test Epoch: 3 loss 0.6 accuracy: 0.9": {"test accuracy": 0.9, "test loss": 0.6},
    "Epoch 3/10 | val | loss 0.6": {"val loss": 0.6},
    "phase: val epoch: 3 loss: 0.6": {"val loss": 0.6},
    "split=valid epoch=3 loss=0.6": {"val loss": 0.6},
    "Validation: epoch 3, loss: 0.5, lr: 0.1": {"val loss": 0.5, "lr": 0.1},
}


@pytest.mark.parametrize(("line", "row"), ONE_ROW.values(), ids=list(ONE_ROW))
def test_a_line_gives_its_row(line: str, row: tuple[str, int, dict[str, float]]) -> None:
    assert logtext.rows(line + "\n") == [row]


@pytest.mark.parametrize(("line", "metrics"), HELD_BACK.items())
def test_results_on_data_held_back_are_named_so(line: str, metrics: dict[str, float]) -> None:
    assert logtext.rows(line + "\n") == [("generic", 3, metrics)]


@pytest.mark.parametrize(
    "line", ["Eval step 10: loss=0.5", "CV Batch 0/10 loss 100.1", "Validation batch 3: loss 0.5"]
)
def test_batches_of_an_evaluation_are_no_steps(line: str) -> None:
    assert [step for _, step, _ in logtext.rows(f"step: 100 loss: 0.4\n{line}\n")] == [100]


def test_the_accuracy_beside_a_loss_of_validation_is_of_the_validation():
    text = "Epoch 1/24\n----------\ntrain Loss: 0.5 Acc: 0.7\nval Loss: 0.1 Acc: 0.95\n"
    assert logtext.rows(text) == [
        ("generic", 1, {"train Loss": 0.5, "Acc": 0.7}),
        ("generic", 1, {"val Loss": 0.1, "val Acc": 0.95}),
    ]


def test_the_quickstart_tells_its_test_apart():
    text = (
        "Epoch 1\n-------------------------------\nloss: 2.303494  [   64/60000]\n"
        "Test Error: \n Accuracy: 44.7%, Avg loss: 2.154 \n"
    )
    assert logtext.rows(text) == [
        ("examples", 64, {"loss": 2.303494, "epoch": 1, "samples": 64}),
        ("examples", 64, {"Test accuracy_percent": 44.7, "Test average loss": 2.154}),
    ]


def test_the_best_round_told_after_an_early_stop_is_no_new_one():
    rounds = "[37]\tvalid_0's l2: 0.1\n[87]\tvalid_0's l2: 0.2\n"
    text = rounds + "Early stopping, best iteration is:\n[37]\tvalid_0's l2: 0.1\n"
    assert [step for _, step, _ in logtext.rows(text)] == [37, 87]


@pytest.mark.parametrize(
    "text",
    [
        "***** train metrics *****\n  epoch                    =        3.0\n  train_loss               =     0.4021\n",
        "Epoch 12, global step 4800: 'val_loss' reached 0.123 (best 0.12), saving model to 'e=12-val_loss=0.12.ckpt'\n",
        "Epoch 1: val_loss improved from inf to 0.12345, saving model to best.keras\n",
        "Epoch 5: ReduceLROnPlateau reducing learning rate to 0.00010000000474974513.\n",
        "10 packets transmitted, 10 received, 0% packet loss, time 9012ms\n",
        "Test: [  10/48]  Time: 0.2 (0.3)  Loss:  1.2 (1.1)  Acc@1: 70.3 (71.0)\n",
        "[12]\ttemperature: 45\n",
    ],
    ids=["summary", "lightning", "keras", "plateau", "ping", "timm", "other"],
)
def test_what_is_no_step_gives_none(text: str) -> None:
    assert logtext.rows(text) == []
