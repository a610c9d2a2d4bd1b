"""Lines of scripts that use no framework's logger: JSON, pairs, words and numbers, milestones."""

from support import logtext


def test_ugro_keeps_the_unit_of_its_throughput():
    text = "Epoch [2/3] Step [10/200] Loss: 2.3456 LR: 1.99e-04 Throughput: 152.00 tokens/s\n"
    assert logtext.rows(text) == [
        ("ugro", 210, {"Loss": 2.3456, "LR": 1.99e-4, "tokens/s": 152.0, "epoch": 2})
    ]


def test_pytorch_examples_count_samples():
    text = (
        "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.1\nTrain Epoch: 2 [640/60000 (1%)]\tLoss: 0.1\n"
        "\nTest set: Average loss: 0.0512, Accuracy: 9829/10000 (98%)\n"
    )
    assert logtext.rows(text) == [
        ("examples", 640, {"Loss": 2.1, "epoch": 1, "samples": 640}),
        ("examples", 60640, {"Loss": 0.1, "epoch": 2, "samples": 60640}),
        ("examples", 60640, {"Test average loss": 0.0512, "Test accuracy": 0.9829}),
    ]


def test_json_lines_say_their_time_and_rank():
    text = (
        '{"step": 10, "loss": 0.5, "lr": 1e-4, "timestamp": "2024-01-01T00:00:00Z", "rank": 3}\n'
        'INFO {"iteration": 19, "total_loss": 1.25, "time": 0.3}\n'
        '{"train_lr": 1e-4, "train_loss": 5.1, "epoch": 3, "n_parameters": 41302368}\n'
    )
    steps, _ = logtext.read(text)
    assert [(step.step, step.rank, step.timestamp, step.metrics) for step in steps] == [
        (10, 3, 1704067200.0, {"loss": 0.5, "lr": 1e-4}),
        (19, 0, None, {"total_loss": 1.25, "time": 0.3}),
        (3, 0, None, {"train_lr": 1e-4, "train_loss": 5.1, "epoch": 3}),
    ]


def test_whole_numbers_stay_whole_beyond_what_a_float_holds():
    text = '{"step": 1, "loss": 0.5, "tokens": 9007199254740993}\n'
    assert logtext.rows(text)[0][2]["tokens"] == 9007199254740993


def test_any_line_with_a_step_and_a_loss():
    lines = {
        "Step 100: loss=0.5, lr=1e-4": (100, {"loss": 0.5, "lr": 1e-4}),
        "step: 110 | loss: 0.45 | grad norm: 0.3 | tok/s: 1200": (
            110,
            {"loss": 0.45, "grad norm": 0.3, "tok/s": 1200},
        ),
        "[2024-01-01 00:00:00] INFO: Iteration 120/1000, Train Loss 0.44, Val Loss 0.6": (
            120,
            {"Train Loss": 0.44, "Val Loss": 0.6},
        ),
        "2025-04-26 15:46:19,816 INFO: Epoch 3: Train MSE Loss: 0.797599": (3, {"Train MSE Loss": 0.797599}),
        "[Epoch 1/200] [Batch 3/938] [D loss: 0.1] [G loss: 0.5]": (3, {"D loss": 0.1, "G loss": 0.5}),
    }
    for line, (step, metrics) in lines.items():
        assert logtext.rows(line + "\n") == [("generic", step, metrics)]


def test_lines_of_nothing_but_pairs_are_counted():
    found = logtext.rows("loss: nan, co: nan\nloss: nan, co: nan\n")
    assert [(family, step) for family, step, _ in found] == [("generic", 1), ("generic", 2)]


def test_settings_code_and_prose_are_no_steps():
    text = (
        "max_steps: 1000, loss_weight: 0.5\nlogging_steps=1.0,\nloss_fn(step=3, loss=0.5)\n"
        '  File "train.py", line 3, in step: loss = 3\nlosses went down after step 3\n'
        "print(f'step {step} loss {loss}')\nloss: CrossEntropyLoss\nstep 3: downloading 5 files\n"
        "Step 4/10 : RUN pip install lossless==1.2\nThe loss of 3 nodes in epoch 5 was noted\n"
        "number of nan iterations: 0\nwarmup_step:10/50\n"
    )
    assert logtext.rows(text) == []


def test_a_batch_of_an_epoch_whose_size_nobody_said_is_counted():
    text = "Epoch: 2, Batch: 100, Loss: 0.5\nEpoch: 2, Batch: 200, Loss: 0.4\n"
    assert logtext.rows(text) == [
        ("generic", 1, {"Loss": 0.5, "epoch": 2, "batch": 100}),
        ("generic", 2, {"Loss": 0.4, "epoch": 2, "batch": 200}),
    ]


def test_thousands_may_be_separated():
    text = "step: 1,200  loss:  8.1234  memory:  5.02GiB(6.35%)  tps: 3,012  mfu: 12.34%\n"
    assert logtext.rows(text) == [
        ("generic", 1200, {"loss": 8.1234, "memory_GiB": 5.02, "tps": 3012, "mfu_percent": 12.34})
    ]


def test_bars_between_names_and_values_stand_for_colons():
    text = "step    1/18865 | loss 11.009205 (+nanz)| norm 15.3221 (+nanz)| lr 8.57e-07 | 2866.43 ms | 182894 tok/s\n"
    assert logtext.rows(text) == [("generic", 1, {"loss": 11.009205, "norm": 15.3221, "lr": 8.57e-07})]


def test_the_quickstart_of_pytorch():
    text = "Epoch 2\n-------------------------------\nloss: 2.100000  [ 6464/60000]\n"
    assert logtext.rows(text) == [("examples", 66464, {"loss": 2.1, "epoch": 2, "samples": 66464})]


def test_milestones_become_events_and_percentages_alone_do_not():
    text = (
        "Step #0: CHONK: [70%] PyTorch MUHNCHED! yum [1495s]\n[ 70%] Building CXX object a.o\n"
        'Starting Step #1 - "build"\n'
    )
    steps, events = logtext.read(text, lambda _offset: 50.0)
    assert steps == []
    assert [(event.timestamp, event.type, event.details) for event in events] == [
        (50.0, "milestone", {"percent": 70.0, "name": "PyTorch MUHNCHED! yum", "elapsed_seconds": 1495.0}),
        (50.0, "milestone", {"name": "Starting Step #1 - build"}),
    ]


def test_batches_of_an_epoch_without_a_number_are_counted():
    text = (
        "2025-03-02 05:16:20,962 - INFO - Epoch 1 - Batch loss: 12.1\n"
        "2025-03-02 05:16:22,229 - INFO - Epoch 1 - Batch loss: 14.9\n"
        "2025-03-02 05:16:22,230 - INFO - Epoch 1 - Average Train Loss: 13.5\n"
        "2025-03-02 05:16:23,962 - INFO - Epoch 2 - Batch loss: 11.1\n"
    )
    assert logtext.rows(text) == [
        ("generic", 1, {"Batch loss": 12.1, "epoch": 1}),
        ("generic", 2, {"Batch loss": 14.9, "epoch": 1}),
        ("generic", 2, {"Average Train Loss": 13.5}),
        ("generic", 3, {"Batch loss": 11.1, "epoch": 2}),
    ]


def test_rows_below_a_line_that_announces_the_epoch_are_of_that_epoch():
    text = (
        "2025-09-16 12:06:43,741 - INFO - Epoch 7/50\n"
        "2025-09-16 12:06:49,852 - INFO - Train Loss: 0.4764, Train Acc: 83.24%\n"
        "2025-09-16 12:06:50,852 - INFO - Val Loss: 0.5\n"
        "===== Epoch 8 =====\nLoss: 0.4\nEpoch(9) begin training........\nTrain(9), loss: 0.3, time: 529 s\n"
    )
    assert logtext.rows(text) == [
        ("generic", 7, {"Train Loss": 0.4764, "Train Acc_percent": 83.24}),
        ("generic", 7, {"Val Loss": 0.5}),
        ("generic", 8, {"Loss": 0.4}),
        ("generic", 9, {"loss": 0.3, "time_s": 529}),
    ]


def test_results_of_an_epoch_belong_to_the_last_step_of_its_bar():
    bar = "\rTraining: 100%|####| {}/4 [00:01<00:00, 4.00it/s]"
    text = "".join(
        f"INFO - Epoch {epoch}/2\n" + "".join(map(bar.format, (1, 4))) + "\nINFO - Val Loss: 0.5\n"
        for epoch in (1, 2)
    )
    assert [(family, step) for family, step, _ in logtext.rows(text)] == [
        ("tqdm", 1),
        ("generic", 4),
        ("tqdm", 4),
        ("tqdm", 5),
        ("generic", 8),
        ("tqdm", 8),
    ]


def test_short_words_for_epoch_and_batch():
    text = "ep: 0, batch: 20, time: 9.17, ntokens: 485.20/513, loss: 10.98\n"
    assert logtext.rows(text) == [("generic", 1, {"ntokens": 485.2, "loss": 10.98, "epoch": 0, "batch": 20})]


def test_the_log_files_of_llm_c_and_of_build_nanogpt():
    text = "s:0 tel:10.9830\ns:1 trl:10.9598 lr:0.000002 norm:15.24\n250 val 6.1\n250 hella 0.2463\n250 train 6.2\n"
    assert logtext.rows(text) == [
        ("nanogpt", 0, {"val_loss": 10.983}),
        ("nanogpt", 1, {"train_loss": 10.9598, "lr": 2e-06, "norm": 15.24}),
        ("nanogpt", 250, {"val_loss": 6.1}),
        ("nanogpt", 250, {"hellaswag accuracy": 0.2463}),
        ("nanogpt", 250, {"train_loss": 6.2}),
    ]


def test_deepspeed_has_not_stepped_while_its_engine_is_set_up():
    line = "[2024-12-24 13:27:34,315] [INFO] [logging.py:96:log_dist] [Rank 0] step={}, skipped=0, lr=[{}], mom=[]\n"
    assert logtext.rows(line.format(0, 0.0) + line.format(10, 1e-5)) == [
        ("deepspeed", 10, {"lr": 1e-5, "skipped": 0})
    ]


def test_rows_that_come_again_within_their_epoch_are_counted_from_the_third_on():
    text = "".join(f"epoch:  {epoch} loss:  0.{row}9\n" for epoch in (1, 2) for row in range(4))
    assert [step for _, step, _ in logtext.rows(text)] == [1, 1, 3, 4, 5, 6, 7, 8]


def test_two_rows_of_an_epoch_may_be_of_two_ranks():
    text = "".join(f"epoch:  {epoch} loss:  0.{rank}9\n" for epoch in (1, 2) for rank in range(2))
    assert [step for _, step, _ in logtext.rows(text)] == [1, 1, 2, 2]


def test_the_result_of_an_epoch_belongs_to_the_steps_around_it():
    text = (
        "Epoch 0 | Step 10/20 | Loss: 0.55\nEpoch 0 | Step 20/20 | Loss: 0.5\nEpoch 0 completed | Avg Loss: 0.6\n"
        "Epoch 1 | Step 10/20 | Loss: 0.45\nEvaluation Results:\n   Loss: 0.4886\n"
    )
    assert [step for _, step, _ in logtext.rows(text)] == [10, 20, 20, 30]


def test_steps_begin_anew_with_each_epoch_that_is_told_between_them():
    text = (
        "    step  160/328  loss 0.53\n    step  320/328  loss 0.52\n[x] Epoch 1/5 -- train: 0.52  ppl: 1.8\n"
        "    step  160/328  loss 0.51\n    step  320/328  loss 0.50\n[x] Epoch 2/5 -- train: 0.50  ppl: 1.7\n"
        "    step  160/328  loss 0.49\n"
    )
    assert [step for _, step, _ in logtext.rows(text)] == [160, 320, 320, 488, 648, 648, 816]


def test_lone_losses_are_counted_where_nothing_else_is_numbered():
    assert [step for _, step, _ in logtext.rows("batch loss:0.608\nbatch loss:0.513\n")] == [1, 2]
    assert logtext.rows("step: 3 loss: 0.5\nLoss: 0.4886\n") == [("generic", 3, {"loss": 0.5})]


def test_losses_of_traders_and_networks_are_none():
    text = (
        "Entry: 100.5, Stop Loss: 95.2, Take Profit: 110.1\npacket loss: 0.5, step: 3\n"
        "iteration 5: stop_loss: 1.25\nProfit/Loss: 3.5, iteration: 4\nheat loss: 3.25\n"
    )
    assert logtext.rows(text) == []
