"""Further forms of the families: older releases, bars that were wiped, examples that many scripts began as."""

from support import logtext


def test_megatron_without_colons_and_without_an_end():
    text = (
        " iteration 100/  1000 | elapsed time per iteration (ms): 430.0 | learning rate 1.342E-04 | lm loss 7.4E+00 |\n"
        " iteration      200/infinity | elapsed time per iteration (ms): 430.0 | lm loss: 7.3E+00 |\n"
    )
    assert logtext.rows(text) == [
        (
            "megatron",
            100,
            {"elapsed time per iteration (ms)": 430.0, "learning rate": 1.342e-4, "lm loss": 7.4},
        ),
        ("megatron", 200, {"elapsed time per iteration (ms)": 430.0, "lm loss": 7.3}),
    ]


def test_the_timer_of_older_deepspeed():
    text = "[2022-08-29 06:58:56,176] [INFO] [timer.py:198] 0/20, RunningAvgSamplesPerSec=232.7, MemAllocated=0.36GB\n"
    assert logtext.rows(text) == [
        ("deepspeed", 20, {"RunningAvgSamplesPerSec": 232.7, "MemAllocated_GB": 0.36})
    ]


def test_mmcv_counts_its_json_within_epochs():
    text = (
        '{"mode": "train", "epoch": 1, "iter": 50, "lr": 0.002, "loss": 1.1}\n'
        '{"mode": "train", "epoch": 1, "iter": 100, "lr": 0.002, "loss": 1.0}\n'
        '{"mode": "train", "epoch": 2, "iter": 50, "lr": 0.002, "loss": 0.9}\n'
        '{"mode": "val", "epoch": 2, "iter": 625, "lr": 0.02, "bbox_mAP": 0.1}\n'
    )
    found = logtext.rows(text)
    assert [step for _, step, _ in found] == [50, 100, 150, 150]
    assert found[-1][2] == {"val/epoch": 2, "val/lr": 0.02, "val/bbox_mAP": 0.1}


def test_a_table_of_ultralytics_whose_bars_were_wiped_has_epochs():
    text = (
        "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        "       1/40      2.06G      2.072      3.219      1.735         26        640\n"
        "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95)\n"
        "                   all        176        573      0.125       0.54      0.214     0.0936\n"
    )
    assert logtext.rows(text) == [
        (
            "ultralytics",
            1,
            {
                "box_loss": 2.072,
                "cls_loss": 3.219,
                "dfl_loss": 1.735,
                "Instances": 26,
                "Size": 640,
                "GPU_mem_G": 2.06,
            },
        ),
        (
            "ultralytics",
            1,
            {"val Box(P)": 0.125, "val Box(R)": 0.54, "val Box(mAP50)": 0.214, "val Box(mAP50-95)": 0.0936},
        ),
    ]


def test_one_line_an_epoch_of_older_keras():
    text = "Epoch 1/5\n - 5s - loss: 0.29 - acc: 0.91 - val_loss: 0.15\nEpoch 2/5\n - 4s - loss: 0.2 - acc: 0.9\n"
    assert logtext.rows(text) == [
        ("keras", 1, {"loss": 0.29, "acc": 0.91, "val_loss": 0.15}),
        ("keras", 2, {"loss": 0.2, "acc": 0.9}),
    ]


def test_nnunet_names_its_epoch_above_the_losses():
    text = (
        "2024-01-01 10:00:00.123456: Epoch 0\n2024-01-01 10:05:00.1: train_loss -0.1234\n"
        "2024-01-01 10:05:00.2: val_loss -0.2\n2024-01-01 10:05:00.3: Pseudo dice [0.5]\n"
        "2024-01-01 10:05:01.1: Epoch 1\n2024-01-01 10:10:00.1: train_loss -0.2234\n"
    )
    assert logtext.rows(text) == [
        ("generic", 0, {"train_loss": -0.1234}),
        ("generic", 0, {"val_loss": -0.2}),
        ("generic", 1, {"train_loss": -0.2234}),
    ]


def test_examples_that_many_scripts_began_as():
    text = (
        "[1,  2000] loss: 2.204\n[2,  2000] loss: 1.404\n"
        "[1/25][50/1583] Loss_D: 1.9 Loss_G: 5.1\n"
        "(epoch: 1, iters: 100, time: 0.274, data: 0.100) D_A: 0.402 G_A: 0.318\n"
        " 124: 1.5, 2.2 avg loss, 0.001 rate, 1.2 seconds, 7936 images, 1.0 hours left\n"
        "[7]\ttrain-logloss:0.68\teval-logloss:0.69\n"
    )
    assert logtext.rows(text) == [
        ("examples", 2000, {"loss": 2.204, "epoch": 1, "batch": 2000}),
        ("examples", 4000, {"loss": 1.404, "epoch": 2, "batch": 2000}),
        ("meters", 50, {"Loss_D": 1.9, "Loss_G": 5.1, "epoch": 1}),
        ("examples", 100, {"D_A": 0.402, "G_A": 0.318, "epoch": 1, "batch": 100}),
        ("examples", 124, {"loss": 1.5, "avg loss": 2.2, "rate": 0.001, "seconds": 1.2, "images": 7936}),
        ("trees", 7, {"train-logloss": 0.68, "eval-logloss": 0.69}),
    ]


def test_steps_that_begin_anew_with_each_epoch_go_on():
    text = "".join(
        f"epoch: [{epoch}/9], iter: {step}, lr: 0.001, loss: 3.4\n" for epoch in (1, 2) for step in (10, 20)
    )
    assert [step for _, step, _ in logtext.rows(text)] == [10, 20, 30, 40]


def test_a_step_that_goes_on_over_epochs_stays_as_printed():
    text = "".join(
        f"epoch: {epoch}, step: {step}, loss: 3.4\n" for epoch, step in ((0, 10), (1, 20), (2, 30))
    )
    assert [step for _, step, _ in logtext.rows(text)] == [10, 20, 30]


def test_a_dict_below_a_step_is_of_that_step():
    text = "Step 100 per-step time 0.5s loss=0.9\n{'Loss/total_loss': 0.9, 'learning_rate': 0.01}\n"
    assert [(family, step) for family, step, _ in logtext.rows(text)] == [("generic", 100), ("hf", 100)]


def test_a_decimal_comma_gives_nothing_rather_than_a_wrong_number():
    assert logtext.rows("Epoch 1 loss 0,5123\nStep 2 loss: 0,41\n") == []


def test_the_iteration_of_a_log_is_not_its_epoch():
    text = (
        "2023-01-01 10:00:00,123   INFO  epoch: 0/80, acc_iter=50, cur_iter=50/500, batch_size: 4, loss=2.1\n"
    )
    assert logtext.rows(text) == [("generic", 50, {"batch_size": 4, "loss": 2.1})]


def test_the_words_of_a_bar_without_an_end_say_where_it_is():
    bar = "Train Epoch: {} [{}/65 (88%)] Loss: 14.99: : 57it [00:14,  4.11it/s]\n"
    assert [(family, step) for family, step, _ in logtext.rows(bar.format(0, 58) + bar.format(1, 3))] == [
        ("tqdm", 58),
        ("tqdm", 68),
    ]


def test_a_bar_whose_words_hold_values_is_one_bar():
    text = "".join(
        f"\rL: {loss}, loss: {loss}, epoch: 0/50::   0%|          | {n}/1419 [00:03<10:00,  2.49it/s]"
        for n, loss in ((1, 2011.79), (1, 43.1), (2, 9.0), (3, 8.12))
    )
    assert [(step, metrics["loss"]) for _, step, metrics in logtext.rows(text)] == [
        (1, 43.1),
        (2, 9.0),
        (3, 8.12),
    ]


def test_scanning_a_folder_called_train_is_no_training():
    assert (
        logtext.rows(
            "train: Scanning 'labels/train' images... 396 found:  67%|## | 396/595 [00:01<00:01, 300it/s]\n"
        )
        == []
    )
