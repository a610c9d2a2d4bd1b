"""Lines as each tool prints them; expected values are read off the line by eye."""

import math

from support import logtext


def test_hugging_face_rows_take_their_step_from_the_bar_drawn_after_them():
    text = (
        "\r  0%|          | 0/20 [00:00<?, ?it/s]\r 45%|████▌     | 9/20 [00:01<00:01,  9.00it/s]"
        "\r                                        \r"
        "{'loss': 0.5, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': 0.5}\n"
        "\r 50%|█████     | 10/20 [00:01<00:01,  9.00it/s]\r100%|██████████| 20/20 [00:02<00:00,  9.10it/s]"
    )
    assert logtext.rows(text) == [
        ("hf", 10, {"loss": 0.5, "grad_norm": 1.5, "learning_rate": 5e-05, "epoch": 0.5, "it/s": 9.0})
    ]


def test_hugging_face_numbers_may_be_texts_and_losses_negative():
    text = "{'loss': '-0.1081', 'learning_rate': '8e-06', 'num_tokens': '2.433e+04', 'epoch': '0.01'}\n"
    assert logtext.rows(text) == [
        ("hf", 1, {"loss": -0.1081, "learning_rate": 8e-06, "num_tokens": 24330.0, "epoch": 0.01})
    ]


def test_a_loss_that_is_nan_is_kept():
    ((_, _, metrics),) = logtext.rows("{'loss': nan, 'grad_norm': inf, 'epoch': 0.1}\n")
    assert math.isnan(metrics["loss"])
    assert metrics["grad_norm"] == math.inf


def test_the_row_of_the_whole_training_is_no_step():
    text = "{'train_runtime': 373.3, 'train_samples_per_second': 8.6, 'train_loss': 0.44, 'epoch': 2.0}\n"
    steps, events = logtext.read(text, lambda _offset: 100.0)
    assert steps == []
    assert [(event.type, event.details["train_loss"]) for event in events] == [("summary", 0.44)]


def test_an_evaluation_belongs_to_the_step_before_it():
    text = (
        "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 0.5}\n"
        "{'loss': 0.4, 'learning_rate': 1e-05, 'epoch': 1.0}\n"
        "{'eval_loss': 0.45, 'eval_runtime': 3.1, 'epoch': 1.0}\n"
    )
    assert [(step, next(iter(metrics))) for _, step, metrics in logtext.rows(text)] == [
        (1, "loss"),
        (2, "loss"),
        (2, "eval_loss"),
    ]


def test_a_row_printed_twice_is_one_row():
    line = "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 0.5}\n"
    assert len(logtext.rows(line + line)) == 1


def test_a_dict_of_settings_is_no_row():
    text = "{'learning_rate': 0.1, 'optimizer': 'adam', 'name': 'x', 'resume': None, 'dir': '/tmp', 'epoch': 3}\n"
    assert logtext.rows(text) == []


def test_the_last_drawing_of_a_step_counts():
    text = (
        "steps:   0%|          | 1/1000 [00:01<16:39,  1.00s/it]"
        "\rsteps:   0%|          | 1/1000 [00:01<16:39,  1.00s/it, avr_loss=0.123]"
        "\rsteps:   0%|          | 2/1000 [00:02<16:38,  1.00s/it, avr_loss=0.123]"
        "\rsteps:   0%|          | 2/1000 [00:02<16:38,  1.01s/it, avr_loss=0.118]"
    )
    assert logtext.rows(text) == [
        ("tqdm", 1, {"avr_loss": 0.123, "s/it": 1.0}),
        ("tqdm", 2, {"avr_loss": 0.118, "s/it": 1.01}),
    ]


def test_ai_toolkit_bars_and_timer_blocks():
    text = (
        "lora:   0%|          | 0/600 [00:10<?, ?it/s, lr: 1.0e-04 loss: 4.170e-01]"
        "\rlora:   0%|          | 1/600 [00:12<20:00,  2.54s/it, lr: 1.0e-04 loss: 4.170e-02]\n"
        "\nTimer 'lora Timer':\n - 1.2345s avg - train_loop, num = 10\n - 0.0100s avg - get_batch, num = 10\n\n"
        "lora:   0%|          | 2/600 [00:13<20:00,  1.22it/s, lr: 1.0e-04 loss: 3.170e-02]"
    )
    found = sorted(logtext.rows(text), key=lambda row: (row[1], row[0]))
    assert found == [
        ("tqdm", 0, {"lr": 1e-4, "loss": 0.417}),
        ("aitoolkit", 1, {"train_loop_s": 1.2345, "get_batch_s": 0.01}),
        ("tqdm", 1, {"lr": 1e-4, "loss": 0.0417, "s/it": 2.54}),
        ("tqdm", 2, {"lr": 1e-4, "loss": 0.0317, "it/s": 1.22}),
    ]


def test_bars_of_loading_and_evaluating_are_no_steps():
    text = (
        "Loading checkpoint shards: 100%|██████████| 3/3 [00:18<00:00,  5.79s/it]\n"
        "Evaluating:  20%|██        | 15/74 [01:07<04:34,  4.65s/it, loss=0.3]\n"
        "176it [00:00, 1758.01it/s]\n  0% 1024/170498071 [00:00<8:20:23, 5678.71it/s]\n"
        "100%|██████████| 2027/2027 [09:20<00:00,  3.62it/s]\n"
    )
    assert logtext.rows(text) == []


def test_a_bar_named_training_gives_its_rate_even_without_metrics():
    text = "Training Progress:  25%|██▌       | 251/1000 [1:19:35<24:54:40, 119.73s/it]\n"
    assert logtext.rows(text) == [("tqdm", 251, {"s/it": 119.73})]


def test_fatal_text_glued_to_a_bar_does_not_spoil_its_step():
    text = "  1%|          | 5/600 [00:10<20:00,  2.0it/s, loss=0.5]slurmstepd: error: *** JOB 25 CANCELLED ***\n"
    assert logtext.rows(text) == [("tqdm", 5, {"loss": 0.5, "it/s": 2.0})]


def test_lightning_counts_batches_over_epochs_from_0_as_its_loggers_do():
    text = (
        "Epoch 0:  12%|█▎        | 3/24 [00:01<00:10,  2.10it/s, v_num=0, train_loss=0.500]"
        "\rEpoch 0: 100%|██████████| 24/24 [00:08<00:00,  3.00it/s, v_num=0, train_loss=0.300]\n"
        "\rValidation DataLoader 0: 100%|██████████| 2/2 [00:00<00:00, 20.0it/s]\x1b[A"
        "\rEpoch 1:   4%|▍         | 1/24 [00:00<00:05,  4.00it/s, v_num=0, train_loss=0.250, val_loss=0.400]"
    )
    assert logtext.rows(text) == [
        ("lightning", 2, {"train_loss": 0.5, "it/s": 2.1, "epoch": 0}),
        ("lightning", 23, {"train_loss": 0.3, "it/s": 3.0, "epoch": 0}),
        ("lightning", 24, {"train_loss": 0.25, "val_loss": 0.4, "it/s": 4.0, "epoch": 1}),
    ]


def test_lightning_bars_broken_by_the_end_of_a_terminal_line():
    text = "Epoch 0:   5%|████\n██        | 1047/22570 [05:28<1:52:31,  3.19it/s, v_num=24]Epoch 0:   5%|█\n"
    assert logtext.rows(text) == [("lightning", 1046, {"it/s": 3.19, "epoch": 0})]


def test_lightning_with_rich():
    text = "Epoch 1/9  ━━━━━━━━━━━━ 32/32 0:00:01 • 0:00:00 30.21it/s v_num: 0.000 train_loss: 0.512\n"
    assert logtext.rows(text) == [("lightning", 63, {"train_loss": 0.512, "it/s": 30.21, "epoch": 1})]


def test_lightning_with_rich_and_a_narrow_terminal():
    text = (
        "Epoch 1/1  ━━━━━━━━━━━━ 8/8 0:00:00 • 0:00:00 88.03it/s v_num: 0.000      \n"
        "                                                              train_loss: 0.804 \n"
        "                                                              samples_per_secon…\n"
        "                                                              107.000 val_loss: \n"
        "                                                              2.500             \n"
        "done\n"
    )
    metrics = {"it/s": 88.03, "epoch": 1, "train_loss": 0.804, "val_loss": 2.5}
    assert logtext.rows(text) == [("lightning", 15, metrics)]


def test_a_lightning_bar_at_the_start_of_an_epoch_still_shows_the_one_before():
    text = (
        "Epoch 0: 100%|██████████| 8/8 [00:00<00:00, 51.27it/s, v_num=0, train_loss=2.520]"
        "\rEpoch 1:   0%|          | 0/8 [00:00<?, ?it/s, v_num=0, train_loss=2.520]"
        "\rEpoch 1:  12%|█▎        | 1/8 [00:00<00:00, 46.66it/s, v_num=0, train_loss=7.570]"
    )
    assert [(step, metrics["train_loss"]) for _, step, metrics in logtext.rows(text)] == [
        (7, 2.52),
        (8, 7.57),
    ]


def test_megatron():
    text = (
        " iteration       10/  500000 | consumed samples:          320 | elapsed time per iteration (ms): 301.7 |"
        " learning rate: 4.687E-08 | global batch size:    32 | lm loss: 3.010825E+00 | loss scale: 1.0 |"
        " grad norm: 2.948 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        " validation loss at iteration 10 | lm loss value: 2.500000E+00 | lm loss PPL: 1.218249E+01 | \n"
    )
    train, evaluation = logtext.rows(text)
    assert train[:2] == ("megatron", 10)
    assert train[2]["lm loss"] == 3.010825
    assert train[2]["elapsed time per iteration (ms)"] == 301.7
    assert train[2]["number of nan iterations"] == 0
    assert evaluation == (
        "megatron",
        10,
        {"validation lm loss value": 2.5, "validation lm loss PPL": 12.18249},
    )


def test_deepspeed():
    text = (
        "[2023-10-31 08:58:33,237] [INFO] [logging.py:96:log_dist] [Rank 0]"
        " step=14000, skipped=25, lr=[0.001], mom=[0.9]\n"
        "[2023-10-31 08:58:33,240] [INFO] [timer.py:260:stop] epoch=0/micro_step=14000/global_step=14000,"
        " RunningAvgSamplesPerSec=1412.76, CurrSamplesPerSec=1322.81, MemAllocated=0.25GB, MaxMemAllocated=0.5GB\n"
        "worker-0: steps: 20 loss: 9.2500 iter time (s): 0.512 samples/sec: 62.5\n"
    )
    assert logtext.rows(text) == [
        ("deepspeed", 14000, {"lr": 0.001, "skipped": 25}),
        (
            "deepspeed",
            14000,
            {
                "epoch": 0,
                "RunningAvgSamplesPerSec": 1412.76,
                "CurrSamplesPerSec": 1322.81,
                "MemAllocated_GB": 0.25,
                "MaxMemAllocated_GB": 0.5,
            },
        ),
        ("deepspeed", 20, {"loss": 9.25, "iter time (s)": 0.512, "samples/sec": 62.5}),
    ]


def test_fairseq_json_with_numbers_as_texts_and_its_simple_format():
    text = (
        '[2022-04-08 18:48:05,372][train_inner][INFO] - {"epoch": 1, "loss": "9.276", "wps": "58056.1",'
        ' "num_updates": "200", "lr": "3.1e-06"}\n'
        "2022-01-01 10:10:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 8.1"
        " | ppl 158 | num_updates 210\n"
    )
    assert logtext.rows(text) == [
        ("fairseq", 200, {"epoch": 1, "loss": 9.276, "wps": 58056.1, "lr": 3.1e-06}),
        ("fairseq", 210, {"valid_loss": 8.1, "valid_ppl": 158, "epoch": 1}),
    ]


def test_keras_bars_redrawn_with_backspaces():
    first = " 1/10 [==>...........................] - ETA: 9s - loss: 2.3026 - accuracy: 0.1000"
    text = (
        "Epoch 1/2\n" + first + "\b" * len(first) + "\r10/10 [==============================] - 2s 150ms/step"
        " - loss: 1.9000 - accuracy: 0.3000 - val_loss: 1.8000\nEpoch 2/2\n"
        "10/10 [==============================] - 1s 100ms/step - loss: 1.5000 - accuracy: 0.4000\n"
    )
    assert logtext.rows(text) == [
        ("keras", 1, {"loss": 2.3026, "accuracy": 0.1, "epoch": 1}),
        ("keras", 10, {"loss": 1.9, "accuracy": 0.3, "val_loss": 1.8, "ms/step": 150, "epoch": 1}),
        ("keras", 20, {"loss": 1.5, "accuracy": 0.4, "ms/step": 100, "epoch": 2}),
    ]


def test_keras_3_colours_and_verbose_2():
    text = (
        "Epoch 1/3\n\x1b[1m32/32\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m1s\x1b[0m 2ms/step"
        " - accuracy: 0.3125 - loss: 2.0123\nEpoch 2/3\n32/32 - 0s - 3ms/step - accuracy: 0.5000 - loss: 8.0000e-04\n"
    )
    assert logtext.rows(text) == [
        ("keras", 32, {"accuracy": 0.3125, "loss": 2.0123, "ms/step": 2, "epoch": 1}),
        ("keras", 64, {"accuracy": 0.5, "loss": 8e-4, "ms/step": 3, "epoch": 2}),
    ]


def test_a_download_of_keras_is_no_step():
    text = "   8192/21834768 [..............................] - ETA: 0s\n"
    assert logtext.rows(text) == []


def test_nanogpt_says_what_it_did_not_measure():
    text = (
        "step 0: train loss 4.2874, val loss 4.2823\niter 0: loss 4.2654, time 25419.48ms, mfu -100.00%\n"
        "iter 9: loss 1.5, time 263.68ms, mfu 0.01%\n"
    )
    assert logtext.rows(text) == [
        ("nanogpt", 0, {"train loss": 4.2874, "val loss": 4.2823}),
        ("nanogpt", 0, {"loss": 4.2654, "time_ms": 25419.48}),
        ("nanogpt", 9, {"loss": 1.5, "time_ms": 263.68, "mfu_percent": 0.01}),
    ]


def test_a_duration_of_nan_is_not_measured():
    text = "step:1/1530 train_loss:10.8258 train_time:31869ms step_avg:nanms\n"
    assert logtext.rows(text) == [("nanogpt", 1, {"train_loss": 10.8258, "train_time_ms": 31869})]


def test_mmengine_and_mmcv():
    text = (
        "2024/10/09 11:49:22 - mmengine - INFO - Epoch(train)  [2][20/25]  lr: 1.0000e-02  eta: 1 day, 0:00:00"
        "  time: 0.0029  data_time: 0.0010  memory: 2048  grad_norm: inf  loss: 0.6290\n"
        "2024/10/09 11:49:30 - mmengine - INFO - Epoch(val)  [2][2/2]    acc/top1: 0.5120"
        "  data_time: 0.01  time: 0.02\n"
        "2021-03-01 12:00:00,123 - mmseg - INFO - Iter [50/40000]\tlr: 9.989e-03, eta: 8:00:00, time: 0.7, loss: 2.6\n"
    )
    assert logtext.rows(text) == [
        (
            "mmengine",
            45,
            {
                "lr": 0.01,
                "time": 0.0029,
                "data_time": 0.001,
                "memory": 2048,
                "grad_norm": math.inf,
                "loss": 0.629,
                "epoch": 2,
            },
        ),
        ("mmengine", 45, {"val/acc/top1": 0.512}),
        ("mmengine", 50, {"lr": 0.009989, "time": 0.7, "loss": 2.6}),
    ]


def test_meters_give_the_value_not_the_mean():
    text = (
        "Epoch: [0][ 1/32]\tTime 60.794 (60.732)\tLoss 5.3125 (4.3000)\tCeLoss 2.2969 (2.3594)\n"
        "Epoch: [1]  [20/32]  eta: 0:00:25  lr: 0.001004  loss: 8.2773 (8.3000)  time: 4.1973  max mem: 2547\n"
        "Test: [ 10/98]\tTime 0.5 (0.6)\tLoss 1.0 (1.1)\n * Acc@1 70.300 Acc@5 89.900\n"
    )
    assert logtext.rows(text) == [
        ("meters", 1, {"Time": 60.794, "Loss": 5.3125, "CeLoss": 2.2969, "epoch": 0}),
        ("meters", 52, {"lr": 0.001004, "loss": 8.2773, "time": 4.1973, "max mem": 2547, "epoch": 1}),
        ("meters", 52, {"test Acc@1": 70.3, "test Acc@5": 89.9}),
    ]


def test_ultralytics_rows_are_read_by_their_headings():
    text = (
        "\n      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        "      1/100      2.33G      1.105      3.107      1.161         20        640: 100%|██████████|"
        " 8/8 [00:03<00:00,  2.50it/s]\n"
        "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████|"
        " 4/4 [00:01<00:00,  3.90it/s]\n"
        "                   all        128        929       0.64      0.537      0.605      0.446\n"
        "      2/100      2.41G      1.005      3.007      1.061         20        640: 100%"
        " ━━━━━━━━━━━━ 8/8 3.5it/s 2.3s\n"
    )
    losses = {"box_loss": 1.105, "cls_loss": 3.107, "dfl_loss": 1.161, "Instances": 20, "Size": 640}
    found = logtext.rows(text)
    assert found[0] == ("ultralytics", 8, losses | {"GPU_mem_G": 2.33, "it/s": 2.5, "epoch": 1})
    assert found[1] == (
        "ultralytics",
        8,
        {"val Box(P)": 0.64, "val Box(R)": 0.537, "val Box(mAP50)": 0.605, "val Box(mAP50-95)": 0.446},
    )
    assert (found[2][1], found[2][2]["box_loss"], found[2][2]["it/s"]) == (16, 1.005, 3.5)


def test_meters_of_timm_and_swin():
    text = (
        "Train: 1 [  50/5004 (  1%)]  Loss: 5.940 (6.00)  LR: 1.000e-06  Data: 1.500 (1.500)\n"
        "[2021-04-01 10:00:00 swin] (main.py 221): INFO Train: [2/300][10/1251]\teta 1:00:00 lr 0.000002"
        "\t time 0.5012 (0.6013)\tloss 6.9391 (6.9388)\n"
    )
    assert logtext.rows(text) == [
        ("meters", 50, {"Loss": 5.94, "LR": 1e-06, "Data": 1.5, "epoch": 1}),
        ("meters", 1261, {"lr": 2e-06, "time": 0.5012, "loss": 6.9391, "epoch": 2}),
    ]


def test_an_evaluation_after_the_last_epoch_of_keras_is_no_step():
    text = (
        "Epoch 1/1\n32/32 ━━━━━━━━━━ 1s 2ms/step - loss: 2.0123\n"
        " 4/10 ━━━━━━━━━━ 0s 1ms/step - loss: 1.7000\n10/10 ━━━━━━━━━━ 0s 1ms/step - loss: 1.8000\n"
    )
    assert logtext.rows(text) == [
        ("keras", 32, {"loss": 2.0123, "ms/step": 2, "epoch": 1}),
        ("keras", 32, {"evaluate loss": 1.8, "evaluate ms/step": 1}),
    ]


def test_bars_copied_from_a_notebook():
    text = "Epoch 3: 100%\n24/24 [08:42<00:00, 9.52it/s, v_num=1, train_loss=1.820]\n"
    assert logtext.rows(text) == [("lightning", 95, {"train_loss": 1.82, "it/s": 9.52, "epoch": 3})]


def test_megatron_with_means_beside_values():
    text = "[rank-7/8] : iteration 44/ 50 | elapsed time per iteration (ms): 13100.0/13240.9 | lm loss: 4.1E-03 |\n"
    steps, _ = logtext.read(text)
    assert [(step.rank, step.step, step.metrics) for step in steps] == [
        (7, 44, {"elapsed time per iteration (ms)": 13100.0, "lm loss": 4.1e-3})
    ]
