"""One stream, however it comes: in portions, across restarts, by several ranks, with or without clocks."""

import json
import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmeter.formats import steplines
from jobmeter.formats.steplines import clocks
from jobmeter.model.view import Event, Step
from support import logtext

FRAGMENTS = [
    "\r  0%|          | 0/20 [00:00<?, ?it/s]",
    "\r 45%|████▌     | 9/20 [00:01<00:01,  9.00it/s]",
    "\r                                        \r",
    "{'loss': 0.5, 'learning_rate': 5e-05, 'epoch': 0.5}\n",
    "{'eval_loss': nan, 'eval_runtime': 1.5, 'epoch': 0.5}\n",
    "{'train_runtime': 2.2, 'train_loss': 0.45, 'epoch': 1.0}\n",
    "\r 50%|█████     | 10/20 [00:01<00:01,  9.00it/s]",
    "\n\r 10%|█         | 1/12 [00:00<00:01,  9.00it/s]\x1b[A",
    "steps:   0%|          | 1/1000 [00:01<16:39,  1.00s/it, avr_loss=0.123]\r",
    "steps:   0%|          | 2/1000 [00:02<16:39,  1.00s/it, avr_loss=nan]\r",
    "Epoch 0:   5%|████\n██        | 1047/22570 [05:28<1:52:31,  3.19it/s, v_num=24]",
    "Epoch 2/5\n",
    " 1/10 [==>....] - ETA: 9s - loss: 2.3026\b\b\b\b\b\b\b\b\r",
    "10/10 [======] - 2s 150ms/step - loss: 1.9000\r\n",
    "[rank1]: step: 5 loss: 0.5\n",
    "2: step: 5 loss: 0.5\n",
    "[2024-01-01 00:00:00] step: 6 loss: 0.5\n",
    "Timer 'x':\n - 1.2345s avg - train_loop, num = 10\n\n",
    "      Epoch    GPU_mem   box_loss  Instances       Size\n",
    "      1/100      2.33G      1.105         20        640: 100%|██████████| 8/8 [00:03<00:00,  2.50it/s]\n",
    "                 Class     Images  Instances      Box(P          R): 100%|████| 4/4 [00:01<00:00,  3.90it/s]\n",
    "                   all        128        929       0.64      0.537\n",
    "[70%] built [12s]\n",
    "loss: nan, co: nan\n",
    "plain text\n",
    "\r\n",
    "\n",
    "x" * 3000 + "\n",
    "\ufeff",
]

Taken = tuple[list[Step], list[Event]]


def arrival(offset: int) -> float:
    return 1_704_070_000.0 + offset


def fed(data: bytes, cuts: list[int], *, restart: bool) -> str:
    """Feed a stream in portions; with `restart` each portion goes to a new reader, from the state of the last."""
    reader = steplines.LogReader()
    steps: list[Step] = []
    events: list[Event] = []
    bounds = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    for start, stop in pairwise(bounds):
        if restart:
            state = json.loads(json.dumps(reader.state(), allow_nan=False))
            position, reader = reader.consumed, steplines.LogReader(state)
            reader.feed(data[position:stop], arrival, position)
        else:
            reader.feed(data[start:stop], arrival, start)
        taken = reader.take()
        steps += taken[0]
        events += taken[1]
    reader.feed(b"", arrival, len(data), final=True)
    taken = reader.take()
    return repr((steps + taken[0], events + taken[1]))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14), st.data())
def test_portions_and_restarts_change_nothing(pieces: list[str], data: st.DataObject) -> None:
    stream = "".join(pieces).encode()
    cuts = data.draw(st.lists(st.integers(0, max(len(stream), 1)), max_size=6))
    whole = fed(stream, [], restart=False)
    assert fed(stream, cuts, restart=False) == whole
    assert fed(stream, cuts, restart=True) == whole


def test_byte_by_byte_is_as_good_as_all_at_once():
    stream = "".join(FRAGMENTS).encode()
    assert fed(stream, list(range(len(stream))), restart=False) == fed(stream, [], restart=False)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(st.binary(max_size=60), st.sampled_from([one.encode() for one in FRAGMENTS])), max_size=12
    )
)
def test_bytes_that_are_no_text_never_raise(pieces: list[bytes]) -> None:
    reader = steplines.LogReader()
    reader.feed(b"".join(pieces), logtext.unknown, 0, final=True)
    assert reader.consumed == len(b"".join(pieces))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1", "cp1252", "shift_jis"])
def test_other_encodings_never_raise(encoding: str) -> None:
    text = "step: 5 loss: 0.5 größer\n".encode(encoding, "replace") * 3
    logtext.read(text)


def test_a_line_without_an_end_needs_little_memory():
    reader = steplines.LogReader()
    block = b"no newline in sight, but the word loss " * 25_000
    tracemalloc.start()
    for number in range(100):
        reader.feed(block, logtext.unknown, number * len(block))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reader.take() == ([], [])
    assert reader.consumed > 97_000_000
    assert peak_bytes < 8_000_000


def test_a_line_of_thousands_of_redraws_gives_each_step_once():
    drawings = "".join(
        f"\rx:   1%| | {n}/9000 [00:01<16:39,  1.00it/s, loss=0.{n:04}]" for n in range(1, 3001)
    )
    steps, _ = logtext.read(drawings)
    assert [step.step for step in steps] == list(range(1, 3001))
    assert steps[-1].metrics == {"loss": 0.3, "it/s": 1.0}


def test_bars_in_one_long_line_without_returns_are_found():
    drawings = "".join(
        f"Epoch 0:   1%|█ | {n}/9000 [00:01<16:39,  1.00it/s, v_num=1]" for n in range(1, 1001)
    )
    steps, _ = logtext.read(drawings)
    assert len(steps) > 950  # a bar at a cut of the overlong line is lost


def test_thousands_of_empty_lines_are_passed_over_in_no_time():
    text = "\n" * 8_000 + "step: 1 loss: 0.5\n" + "\n\x1b[A\r" * 2_000 + "step: 2 loss: 0.4\n"
    assert [step for _, step, _ in logtext.rows(text)] == [1, 2]


@pytest.mark.parametrize(
    "line",
    [
        "Epoch " + "1" * 5_000,
        "steps:   1%|" + "_" * 15_000 + "| 1/9 [00:01<00:09,  1.00it/s, loss=0.5]",
        "a" * 15_000 + " loss: 0.5 step: 3   5%|",
        "Epoch [1][50/7330]\tlr: 1.9e-03, " + "loss " * 3_000 + "loss: 1.1",
        "[GPU0] Epoch 3" + " " * 15_000 + "| loss",
        "| loss" + " " * 15_000 + "| 6.2 step",
    ],
    ids=["digits", "bar", "word", "names", "blanks", "fields"],
)
def test_no_line_takes_longer_than_its_length_would_say(line: str) -> None:
    began = time.process_time()
    logtext.read((line + "\n") * 20)
    # a line of 15 kB takes milliseconds; tried in every way it would take seconds
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("prefix", "rank"),
    [
        ("[rank1]: ", 1),
        ("[Rank 0] ", 0),
        ("3: ", 3),
        (" 12: ", 12),
        ("[default2]:", 2),
        ("[1,4]<stdout>:", 4),
        ("[2023-10-31 08:58:33,237] [INFO] [logging.py:96:log_dist] [Rank 5] ", 5),
        ("Step #0: ", 0),
        ("#26 16.13 ", 0),
    ],
)
def test_prefixes_of_launchers_tell_the_rank(prefix: str, rank: int) -> None:
    steps, _ = logtext.read(f"{prefix}step: 5 loss: 0.5\n")
    assert [(step.rank, step.step, step.metrics) for step in steps] == [(rank, 5, {"loss": 0.5})]


def test_ranks_are_counted_apart():
    text = "".join(
        f"{rank}: {{'loss': 0.{rank}, 'learning_rate': 1e-5, 'epoch': {n}}}\n"
        for n in (1, 2)
        for rank in (0, 1)
    )
    steps, _ = logtext.read(text)
    assert [(step.rank, step.step) for step in steps] == [(0, 1), (1, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("clock", "seconds"),
    [
        ("2025-01-04 17:18:04,389", 1736011084.389),
        ("2025-01-04T17:18:04.5Z", 1736011084.5),
        ("2025-01-04T19:18:04+02:00", 1736011084.0),
        ("[2025/01/04 17:18:04]", 1736011084.0),
        ("01/04/2025 17:18:04 - INFO - main -", 1736011084.0),
        ("17/06/2025 17:55:57", 1750182957.0),
        ("06/17/2025 17:55:57", 1750182957.0),
        ("[Di Aug 12 03:54:03 2025]", 1754970843.0),
        ("Tue May 19 07:53:41 UTC 2026", 1779177221.0),
        ("1736011084.25 ", 1736011084.25),
    ],
)
def test_whole_clocks_are_read(clock: str, seconds: float) -> None:
    steps, _ = logtext.read(f"{clock} step: 5 loss: 0.5\n")
    assert [step.timestamp for step in steps] == [seconds]


@pytest.mark.parametrize(
    "clock", ["04/25 19:16:50", "W0519 07:53:44.121000", "09:30:56 PM", "16-06 11:06:42", ""]
)
def test_a_clock_without_a_date_gives_way_to_the_arrival(clock: str) -> None:
    steps, _ = logtext.read(f"{clock} step: 5 loss: 0.5\n", lambda _offset: 77.0)
    assert [step.timestamp for step in steps] == [77.0]


def test_the_zone_of_a_clock_follows_from_the_arrival():
    line = b"2025-01-04 19:18:04,000 step: 5 loss: 0.5\n"
    steps, _ = logtext.read(line, lambda _offset: 1736011084.5)
    assert [step.timestamp for step in steps] == [1736011084.0]


def test_output_that_was_buffered_keeps_the_zone_of_its_first_line():
    assert clocks.zone_seconds(7200.0, 1.0, None) == 7200.0
    assert clocks.zone_seconds(7200.0 + 10, 4000.0, 7200.0) == 7200.0


def test_arrival_is_asked_for_the_last_byte_of_the_line():
    line = b"step: 5 loss: 0.5"
    asked: list[int] = []
    logtext.read(line + b"\n", lambda offset: float(asked.append(offset) or 1.0))
    assert asked == [len(line) - 1]


def test_bytes_fed_again_are_not_read_again():
    line = b"step: 5 loss: 0.5\nstep: 6 lo"
    reader = steplines.LogReader()
    reader.feed(line, logtext.unknown, 0)
    reader.feed(b"step: 6 loss: 0.4\n", logtext.unknown, reader.consumed)
    reader.feed(line, logtext.unknown, 0)
    assert [step.step for step in reader.take()[0]] == [5, 6]


def test_a_gap_loses_the_line_it_cuts_and_nothing_else():
    reader = steplines.LogReader()
    reader.feed(b"step: 5 loss: 0.5\nstep: 6 loss: 0.", logtext.unknown, 0)
    reader.feed(b"99\nstep: 7 loss: 0.3\n", logtext.unknown, 100)
    assert [step.step for step in reader.take()[0]] == [5, 7]
