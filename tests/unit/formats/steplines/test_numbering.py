"""Rows on stdout, their bars on stderr: what the Hugging Face Trainer does when both are captured apart."""

import json

from jobmeter.formats import steplines
from support import logtext

WIPE = b"\r                                                    \r"


def bar(position: int, total: int = 50) -> bytes:
    return f"\r{100 * position // total:3}%|██        | {position}/{total} [00:07<00:56,  4.00it/s]".encode()


def row(number: int) -> bytes:
    return f"{{'loss': 0.{number}, 'learning_rate': 1e-05, 'epoch': {number}.0}}\n".encode()


def test_the_nth_row_belongs_to_the_nth_bar_drawn_again():
    err = bar(0) + bar(9) + bar(10) + WIPE + bar(10) + bar(15) + WIPE + bar(20) + bar(21)
    bars = steplines.LogReader()
    rows = steplines.LogReader(bars_of=bars)
    bars.feed(err, lambda offset: float(offset), 0)
    rows.feed(row(1) + row(2), lambda _offset: 9999.0, 0)
    steps, _ = rows.take()
    assert [(step.step, step.metrics["loss"], step.metrics["it/s"]) for step in steps] == [
        (10, 0.1, 4.0),
        (20, 0.2, 4.0),
    ]
    assert all(step.timestamp is not None and step.timestamp < len(err) for step in steps)
    assert bars.take()[0] == []


def test_a_row_waits_for_its_bar_across_a_restart():
    bars = steplines.LogReader()
    rows = steplines.LogReader(bars_of=bars)
    bars.feed(bar(0) + bar(9), logtext.unknown, 0)
    rows.feed(row(1), logtext.unknown, 0)
    assert rows.take()[0] == []
    bars = steplines.LogReader(json.loads(json.dumps(bars.state())))
    rows = steplines.LogReader(json.loads(json.dumps(rows.state())), bars_of=bars)
    bars.feed(WIPE + bar(10) + bar(11), logtext.unknown, bars.consumed)
    rows.feed(b"", logtext.unknown, rows.consumed)
    assert [step.step for step in rows.take()[0]] == [10]


def test_without_any_bar_rows_are_counted_at_once():
    rows = steplines.LogReader(bars_of=steplines.LogReader())
    rows.feed(row(1) + row(2), logtext.unknown, 0)
    assert [step.step for step in rows.take()[0]] == [1, 2]
    assert rows.counted_rows


def test_bars_of_somebody_else_do_not_hold_rows_up():
    bars = steplines.LogReader()
    rows = steplines.LogReader(bars_of=bars)
    bars.feed(bar(0) + bar(50), logtext.unknown, 0)
    rows.feed(b"".join(map(row, range(1, 10))), logtext.unknown, 0)
    rows.feed(b"", logtext.unknown, rows.consumed)
    assert [step.step for step in rows.take()[0]] == list(range(1, 10))


def test_bars_alone_give_their_rate_at_the_steps_rows_were_printed():
    steps, _ = logtext.read(bar(0) + bar(10) + WIPE + bar(10) + bar(11))
    assert [(step.source, step.step, step.metrics) for step in steps] == [("log:tqdm", 10, {"it/s": 4.0})]


def test_the_summary_row_uses_up_a_bar_as_well():
    bars = steplines.LogReader()
    rows = steplines.LogReader(bars_of=bars)
    bars.feed(
        bar(0) + bar(10) + WIPE + bar(10) + WIPE + bar(10) + bar(0) + WIPE + bar(5) + bar(6),
        logtext.unknown,
        0,
    )
    rows.feed(
        row(1) + b"{'train_runtime': 2.0, 'train_loss': 0.1, 'epoch': 1.0}\n" + row(3), logtext.unknown, 0
    )
    assert [step.step for step in rows.take()[0]] == [10, 5]


def test_a_log_whose_terminal_was_flattened_takes_the_bar_before_the_row():
    text = (
        "  1%|          | 5/400 [02:19<2:57:11, 26.91s/it]Both set.\n"
        + row(1).decode()
        + "  2%| | 6/400 [02:45<2:56:59, 26.95s/it]x\n"
    )
    assert [step.step for step in logtext.read(text)[0]] == [5]


def test_no_row_of_training_is_of_step_zero():
    text = "  0%|          | 0/400 [00:00<?, ?it/s]text\n" + row(1).decode()
    assert [step.step for step in logtext.read(text)[0]] == [1]


def test_a_row_of_an_evaluation_wipes_two_bars():
    nested = b"\n\r  0%|          | 0/1 [00:00<?, ?it/s]\x1b[A"
    wiped = (
        b"\r                                              \r\n\r                                     \r\x1b[A"
    )
    closed = b"\n\r100%|##########| 1/1 [00:00<00:00, 2327.58it/s]\x1b[A\n\r                                    \x1b[A"
    err = bar(0) + WIPE + bar(6) + nested + wiped + bar(6) + closed + bar(7) + WIPE + bar(50) + bar(50)
    bars = steplines.LogReader()
    rows = steplines.LogReader(bars_of=bars)
    bars.feed(err, logtext.unknown, 0)
    rows.feed(
        row(1) + b"{'eval_loss': 0.5, 'eval_runtime': 1.0, 'epoch': 1.0}\n" + row(3), logtext.unknown, 0
    )
    assert [(step.step, next(iter(step.metrics))) for step in rows.take()[0]] == [
        (6, "loss"),
        (6, "eval_loss"),
        (50, "loss"),
    ]


def test_rows_between_two_drawings_of_a_bar_are_at_different_steps():
    bar = "  1%|#    | {}/1963 [00:05<08:24,  3.87it/s]\n"
    row = "{{'loss': {}, 'learning_rate': 1e-05, 'epoch': 0.01}}\n"
    text = bar.format(10) + "".join(map(row.format, (5.5, 5.4, 5.3))) + bar.format(21) + row.format(5.2)
    assert [(step, found["loss"]) for _, step, found in logtext.rows(text)] == [
        (10, 5.5),
        (11, 5.4),
        (12, 5.3),
        (21, 5.2),
    ]


def test_a_second_training_in_one_log_begins_anew():
    bar = "  1%|#    | {}/100 [00:05<08:24,  3.87it/s]\n"
    row = "{{'loss': {}, 'learning_rate': 1e-05, 'epoch': 0.5}}\n"
    text = bar.format(40) + row.format(5.5) + bar.format(1) + row.format(7.5)
    assert [step for _, step, _ in logtext.rows(text)] == [40, 1]


def test_the_epoch_of_a_row_tells_that_its_bar_was_one_step_behind():
    text = (
        "  0%|     | 24/23260 [18:04<70:36:52, 10.98s/it]\n"
        "INFO | x - {'loss': 1.6613, 'learning_rate': 2.1e-06, 'epoch': 0.021496130696474634}\n\n\n"
    )
    assert [step for _, step, _ in logtext.rows(text)] == [25]


def test_a_bar_that_stands_at_its_end_while_rows_go_on_numbers_none_of_them():
    row = "{{'loss': {}, 'learning_rate': 1e-05, 'epoch': {}}}\n"
    text = "100%|####| 760/760 [26:40<00:00,  2.10s/it]\n" + "".join(
        row.format(0.9 - n / 10, n / 50) for n in (1, 2, 3)
    )
    assert [step for _, step, _ in logtext.rows(text)] == [1, 2, 3]


def test_the_last_row_of_a_training_is_at_the_end_of_its_bar():
    text = "100%|####| 760/760 [26:40<00:00,  2.10s/it]\n{'loss': 0.1, 'learning_rate': 0.0, 'epoch': 1.0}\n"
    assert [step for _, step, _ in logtext.rows(text)] == [760]


def test_a_dict_of_settings_is_no_row():
    text = (
        "{'learning_rate': 5e-05, 'batch_size': 16, 'epochs': 3}\n"
        "Training parameters: {'dataset': 'cub', 'size': 512, 'batch': 90, 'epoch': 40, 'loss': 'Anchor', 'lr': 0.1}\n"
    )
    assert logtext.rows(text) == []
