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
    text = (
        "Step 100: loss=0.5, lr=1e-4\nstep: 110 | loss: 0.45 | grad norm: 0.3 | tok/s: 1200\n"
        "[2024-01-01 00:00:00] INFO: Iteration 120/1000, Train Loss 0.44, Val Loss 0.6\n"
        "2025-04-26 15:46:19,816 INFO: Epoch 3: Train MSE Loss: 0.797599\n"
        "[Epoch 1/200] [Batch 3/938] [D loss: 0.1] [G loss: 0.5]\n"
    )
    assert logtext.rows(text) == [
        ("generic", 100, {"loss": 0.5, "lr": 1e-4}),
        ("generic", 110, {"loss": 0.45, "grad norm": 0.3, "tok/s": 1200}),
        ("generic", 120, {"Train Loss": 0.44, "Val Loss": 0.6}),
        ("generic", 3, {"Train MSE Loss": 0.797599}),
        ("generic", 3, {"D loss": 0.1, "G loss": 0.5}),
    ]


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
