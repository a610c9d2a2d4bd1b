"""Errors out of text: whole tracebacks, ranks told apart, repeats folded, whatever the portions and the bytes."""

import random
import tracemalloc
from datetime import UTC, datetime

import pytest

from jobmeter.formats.errorlines import SIGNATURES, ErrorReader
from jobmeter.model.report import LogError
from support.failing_logs import CASES, traceback
from support.harmless_logs import HARMLESS


def read(text: str | bytes, arrived_at: float | None = None, portion: int = 1 << 30) -> list[LogError]:
    raw = text.encode() if isinstance(text, str) else text
    reader = ErrorReader()
    for offset in range(0, len(raw), portion):
        reader.feed(raw[offset : offset + portion], lambda _: arrived_at, offset)
    reader.feed(b"", lambda _: arrived_at, len(raw), final=True)
    return reader.take()


def only(text: str | bytes, **more: float) -> LogError:
    (found,) = read(text, **more)
    return found


def test_a_traceback_is_kept_whole() -> None:
    text = traceback("ValueError: bad\n  second line of the message")
    found = only(f"before\n{text}after\n")
    message = "ValueError: bad\n  second line of the message"
    assert (found.type, found.message, found.signature) == ("ValueError", message, "exception")
    assert found.traceback == text.rstrip("\n")
    assert found.offset == len("before\n")


MARKED = """\
ruamel.yaml.parser.ParserError: while parsing a flow sequence
  in "<unicode string>", line 1, column 5:
    lr: [1e-3
        ^ (line: 1)
expected ',' or ']', but got ':'
  in "<unicode string>", line 2, column 6:
    batch: 4
         ^ (line: 2)"""
VALIDATED = """\
pydantic_core._pydantic_core.ValidationError: 2 validation errors for Settings
lr
  Input should be a valid number [type=float_parsing, input_value='a', input_type=str]
    For further information visit https://errors.pydantic.dev/2.10/v/float_parsing
batch
  Field required [type=missing, input_value={}, input_type=dict]"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            MARKED,
            [
                "ruamel.yaml.parser.ParserError: while parsing a flow sequence",
                '  in "<unicode string>", line 1, column 5:',
                "expected ',' or ']', but got ':'",
                '  in "<unicode string>", line 2, column 6',
            ],
        ),
        (
            VALIDATED,
            [
                "pydantic_core._pydantic_core.ValidationError: 2 validation errors for Settings",
                "lr",
                "  Input should be a valid number [type=float_parsing, input_value='a', input_type=str]",
                "batch",
                "  Field required [type=missing, input_value={}, input_type=dict]",
            ],
        ),
        (
            'RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s): "a".',
            ["RuntimeError: Error(s) in loading state_dict for Net:", '\tMissing key(s): "a".'],
        ),
        ("ValueError: these:\nfirst\nsecond", ["ValueError: these:", "first"]),
        ("ValueError: x\n====\n  3%|#   | 3/100 [00:01<00:09]", ["ValueError: x"]),
    ],
    ids=["yaml", "pydantic", "torch", "announced", "bars"],
)
def test_a_message_of_several_lines_has_those_that_say_something(said: str, told: list[str]) -> None:
    found = only(f"{traceback(said)}\nafter\n")
    assert found.message.split("\n") == told
    assert found.traceback is not None
    assert found.traceback.endswith(said)


def test_a_message_without_end_is_bounded() -> None:
    many = only(traceback("ValueError: bad" + "\n  one more" * 12))
    assert many.message.count("\n") == 5
    wide = only(traceback("ValueError: bad\n  " + "x" * 400 + "\n  " + "y" * 400))
    assert len(wide.message) < 500


@pytest.mark.parametrize("next_line", ["2025-01-01 12:00:00,5 INFO epoch 2", "", "the next job begins"])
def test_a_message_ends_where_another_line_begins(next_line: str) -> None:
    text = traceback(f"ValueError: bad\n  of this\n{next_line}\n  of that")
    assert read(text)[0].message == "ValueError: bad\n  of this"


def test_ranks_that_say_the_same_in_several_lines_are_one_error() -> None:
    text = "".join(traceback(MARKED, prefix=f"[rank{rank}]: ") for rank in range(4))
    found = only(text)
    assert (found.count, found.ranks, found.offset) == (4, (0, 1, 2, 3), 0)
    assert found.message.endswith("line 2, column 6")


@pytest.mark.parametrize(
    ("file", "signature"),
    [("load_config.py", "config_error"), ("run.json", "config_error"), ("client.py", "exception")],
)
def test_json_that_is_no_config_is_no_refused_setting(file: str, signature: str) -> None:
    text = traceback("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)")
    assert only(text.replace("train.py", file)).signature == signature


def test_of_a_chain_the_first_exception_is_the_cause() -> None:
    chain = (
        traceback("FileNotFoundError: no data")
        + "\nThe above exception was the direct cause of the following exception:\n\n"
        + traceback("RuntimeError: could not start")
    )
    found = only(chain)
    assert found.type == "FileNotFoundError"
    assert found.traceback is not None
    assert found.traceback.endswith("RuntimeError: could not start")


def test_what_a_library_raises_to_itself_is_not_the_cause() -> None:
    chain = (
        traceback("KeyError: 'x'")
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + traceback("ValueError: unknown option x")
    )
    assert only(chain).type == "ValueError"


def test_the_exception_of_a_worker_comes_before_its_parents() -> None:
    assert only(CASES["gpu-memory/torch-in-a-worker"][0]).signature == "cuda_oom"


def test_ranks_that_write_at_once_are_told_apart() -> None:
    one = traceback("ValueError: of one", prefix="[rank1]: ").splitlines(keepends=True)
    two = traceback("KeyError: 'of two'", prefix="[rank2]: ").splitlines(keepends=True)
    found = read("".join(line for pair in zip(one, two, strict=True) for line in pair))
    assert [(error.type, error.ranks) for error in found] == [("ValueError", (1,)), ("KeyError", (2,))]


@pytest.mark.parametrize("prefix", ["[rank3]: ", "[default3]:", "3: ", "[1,3]<stderr>:"])
def test_every_launchers_prefix_gives_the_rank(prefix: str) -> None:
    assert only(traceback("ValueError: x", prefix=prefix)).ranks == (3,)


@pytest.mark.parametrize(
    "prefix",
    ["Step #0: ", "#26 16.13 ", "trainer-1  | ", "(train pid=77) ", "2025-01-01T10:00:00.000Z ", "\x1b[31m"],
)
def test_prefixes_of_builders_and_containers_are_taken_off(prefix: str) -> None:
    found = only(traceback("ValueError: x", prefix=prefix))
    assert (found.type, found.ranks) == ("ValueError", ())


def test_what_all_ranks_say_is_one_error() -> None:
    text = "".join(traceback(f"OSError: no file for 10{rank}", prefix=f"[rank{rank}]: ") for rank in range(4))
    found = only(text)
    assert (found.count, found.ranks) == (4, (0, 1, 2, 3))


def test_a_rich_traceback_in_a_box_is_read() -> None:
    text = (
        "╭───────── Traceback (most recent call last) ─────────╮\n│ /x/train.py:3 in main │\n╰──────────╯\n"
        "ValueError: bad\n"
    )
    assert only(text).type == "ValueError"


def test_exceptions_of_a_group_are_read() -> None:
    text = (
        '  + Exception Group Traceback (most recent call last):\n  |   File "x.py", line 1, in <module>\n'
        "  | ExceptionGroup: unhandled errors (1 sub-exception)\n"
    )
    assert only(text).type == "ExceptionGroup"


def test_a_line_has_its_own_time_or_that_of_its_arrival() -> None:
    own = only(
        "2025-01-01T10:00:00Z slurmstepd: error: *** JOB 5 ON a CANCELLED AT 2025-01-01T10:00:00 ***\n",
        arrived_at=5.0,
    )
    assert own.timestamp == datetime(2025, 1, 1, 10, tzinfo=UTC).timestamp()
    local = only(
        "2025-01-01 12:00:00,5 ERROR disk on fire\n",
        arrived_at=datetime(2025, 1, 1, 10, tzinfo=UTC).timestamp() + 1,
    )
    assert local.timestamp == datetime(2025, 1, 1, 10, tzinfo=UTC).timestamp() + 0.5
    assert only("Killed\n", arrived_at=7.0).timestamp == 7.0
    assert only("Killed\n").timestamp is None


def test_levels_are_those_of_the_loggers() -> None:
    text = (
        "2025-01-01 10:00:00,000 - ERROR - trainer - shard is gone\n[W916 07:51:08.4 x.cpp:1] odd warn\n"
        "wandb: WARNING something\nE0512 14:34:33.014000 1 x.py:3] failed to ping\n"
    )
    assert [(error.level, error.signature) for error in read(text)] == [
        ("ERROR", None),
        ("WARNING", None),
        ("WARNING", None),
        ("ERROR", None),
    ]


def test_text_glued_to_a_bar_is_found() -> None:
    found = only(
        "29948it [35:34,  7.00s/it]slurmstepd: error: *** JOB 25 ON g CANCELLED AT 2025-01-01T10:00:00"
        " DUE TO TIME LIMIT ***"
    )
    assert found.signature == "time_limit"


def test_the_newest_wording_gives_what_other_processes_hold() -> None:
    found = only(CASES["gpu-memory/torch-2.6"][0])
    gib = 1 << 30
    assert found.fields == {
        "tried_bytes": 2 * gib,
        "total_bytes": round(79.19 * gib),
        "free_bytes": round(41.5 * (1 << 20)),
        "allocated_bytes": round(1.5 * gib),
        "reserved_bytes": round(1.5 * gib) + (12 << 20),
        "other_process_bytes": round(74.86 * gib) + 2 * gib,
        "gpu": 1,
    }


def test_an_error_the_job_went_on_after_is_survived() -> None:
    bars = "".join(f"{n}/100 [00:{n:02}<01:00,  1.00it/s]\r" for n in range(1, 40))
    assert only(traceback("ValueError: x") + bars).survived
    assert not only(bars + traceback("ValueError: x")).survived
    rows = "".join(f"step {n} loss {n / 7:.4f}\n" for n in range(40))
    assert not only(traceback("ValueError: x") + rows).survived
    assert only(traceback("ValueError: x") + "x" * 20_000 + "\n" + rows).survived
    assert only(traceback("ValueError: x") + "words\n" * 20_000).survived


def test_a_second_attempt_leaves_the_first_ones_errors_behind() -> None:
    first = traceback("ValueError: x") + traceback(
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
    )
    found = read(first + "starting again\n" * 200 + traceback("KeyError: 'y'"))
    assert [(error.type, error.survived) for error in found] == [
        ("ValueError", True),
        ("child_failed", True),
        ("KeyError", False),
    ]


@pytest.mark.parametrize("portion", [1, 7, 100, 4096])
def test_portions_make_no_difference(portion: int) -> None:
    text = "".join(CASES[name][0] for name in list(CASES)[::9]) + "".join(HARMLESS.values())
    assert read(text, portion=portion) == read(text)


def test_no_bytes_hurt() -> None:
    source = random.Random(7)
    words = [
        b"Traceback (most recent call last):\n",
        b"  File\n",
        b"Error: ",
        b"\x1b[",
        b"\r",
        b"\n",
        b"\xff\xfe",
        b"nan loss ",
    ]
    for _ in range(60):
        noise = b"".join(source.choice([source.randbytes(9), *words]) for _ in range(300))
        read(noise, portion=source.choice([1000, 1 << 20]))


def test_a_line_without_end_and_a_million_errors_need_little_memory() -> None:
    tracemalloc.start()
    reader = ErrorReader()
    line = b"error " * 40_000
    for at in range(40):
        reader.feed(line, lambda _: None, at * len(line))
    for at in range(3000):
        raw = f"ERROR: {'abcdefghijklmnopqrstuvwxyz'[at % 26] * (at // 26 + 1)}\n".encode()
        reader.feed(raw, lambda _: None, 10**9 + at * 1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert len(reader.take()) <= 400


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("module", "flash_attn"),
        ("name", "PreTrainedModel"),
        ("library", "libcudart.so.11.0"),
        ("shell", "conda"),
        ("docker-run", "pythn"),
    ],
)
def test_what_is_missing_is_named(name: str, missing: str) -> None:
    assert only(CASES[f"imports/{name}"][0]).fields == {"missing": missing}


def test_every_signature_reads_some_text() -> None:
    seen = {error.signature for text, _ in CASES.values() for error in read(text)}
    assert seen - {None} == set(SIGNATURES)
