"""Text that speaks of a training and is none: prose, tables, source, counters of the kernel."""

from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from support import corpus, logtext

QUOTED = [
    "| `hf` | `{'loss': 0.5, 'learning_rate': 5e-05, 'epoch': 0.5}` of the Trainer and TRL | the bar after the row |",
    "| `nanogpt` | `iter 9: loss 1.5, time 263.68ms, mfu 0.01%`, `step 0: train loss 4.2, val loss 4.3` | iter, step |",
    "| `keras` | `3/10 [===>....] - ETA: 5s - loss: 0.5` and Keras 3's bars | batches over all epochs |",
    "logs with `Epoch [1/3] Step [10/200] Loss: 2.3456 LR: 1.99e-04 Throughput: 152.00 tokens/s`.",
    "bars are `name:  24%|##4  | 2440/10175 [30:31<1:46:04,  1.22it/s, lr: 1.0e-04 loss: 4.170e-02]`, redrawn",
    '- `steps.jsonl`: `{"timestamp": "2026-11-15T09:50:03.120Z", "step": 12, "metrics": {"loss": 0.5}}`.',
]
SHOWN = [
    "steps     204  loss 13.45 -> 3.129 (best 2.974)  3.85 it/s  sdk",
    "steps     200 to step 3,980  loss 0.979 → 0.0115 (best 0.0085)  365 it/s",
]
SOURCE = [
    'python train.py --ckpt "epoch=12-step=48000-val_loss=0.1234.ckpt"',
    "store = store_of(a=[step(1, 5.0, train_loss=2.0), step(2, 6.0, other=1)])",
    "row = \"{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 1.0}\\n\"",
    'text = "step: 1/2 loss: 0.5\\nTraceback (most recent call last):\\n"',
    """files["m0"] = b'{"rank": 0, "step": 2, "loss": 1}'""",
    'send = {"loss": 0.0, "epoch": 0, "val": 1.0}',
]


@pytest.mark.parametrize("line", [*QUOTED, *SHOWN, *SOURCE])
def test_a_line_that_quotes_a_step_is_none(line: str) -> None:
    assert logtext.rows(f"{line}\n{line.replace('2', '3')}\n") == []


def test_a_warning_with_backticks_beside_a_bar_does_not_hide_it():
    text = (
        "\r  1%|#   | 1/100 [00:01<01:39,  1.00it/s]\n`use_cache=True` is incompatible with checkpointing, loss=0.1\n"
        "\r  2%|#   | 2/100 [00:02<01:38,  1.00it/s]\r                                   \r"
        "{'loss': 0.5, 'learning_rate': 5e-05, 'epoch': 0.5}\n\r  2%|#   | 2/100 [00:02<01:38,  1.00it/s]"
    )
    assert [(family, step) for family, step, _ in logtext.rows(text)] == [("hf", 2)]


@pytest.mark.parametrize(
    "name",
    [
        "cgroup-v2/telegraf-v2/memory.events",
        "cgroup-v2/telegraf-v2/memory.events.local",
        "proc-files/jc_vmstat",
    ],
)
def test_counters_of_the_kernel_are_no_log_of_a_failure(name: str) -> None:
    folder, _, rest = name.partition("/")
    assert formats.recognise(corpus.folder(folder) / rest) is None


def test_a_count_of_kills_is_no_kill(tmp_path: Path) -> None:
    path = tmp_path / "events.txt"
    path.write_text("low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n")
    with pytest.raises(UsageError, match="no known error"):
        formats.read(path, "log", is_named=False)
    path.write_text("slurmstepd: Detected 1 oom_kill event in StepId=17.0\n")
    (run,) = formats.read(path, "log", is_named=False)
    assert run.run.status.value == "failed"
