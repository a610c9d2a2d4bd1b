"""A metrics file gives each record once, waits for half a record, and says when it is broken."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.fleet.metricsfile import WHOLE_BYTES, Look, MetricsFile, parse
from jobmeter.fleet.tail import PIECE, Found, Got, Wanted

PATH = "job/metrics_rank0.jsonl"


def answer(data: bytes, wanted: Wanted) -> Got:
    """Answer as every endpoint does."""
    return Got(Found.HERE, wanted.paths[0], data[wanted.offset : wanted.offset + wanted.length])


def look(file: MetricsFile, data: bytes) -> Look:
    return file.take(answer(data, file.wanted()))


def look_on(file: MetricsFile, data: bytes) -> list[int | None]:
    """Look until there is no more, as a poller does; give the steps that were new."""
    steps: list[int | None] = []
    more = True
    while more:
        one = look(file, data)
        assert one.problem == ""
        steps += [told.step for told in one.new]
        more = one.more
    return steps


def record(step: int, **more: object) -> dict[str, object]:
    return {"timestamp": 1768910730.0 + step, "job_id": "j", "rank": 0, "step": step, **more}


def line(step: int, **more: object) -> bytes:
    return json.dumps(record(step, **more)).encode() + b"\n"


def test_a_rewritten_record_is_told_once_however_often_it_is_seen() -> None:
    file = MetricsFile((PATH,), 0)
    steps = [told.step for step in (1, 1, 1, 2, 2, 3) for told in look(file, line(step, training_loss=1)).new]
    assert steps == [1, 2, 3]


def test_a_stale_record_of_the_same_step_and_time_is_not_new_even_if_other_fields_differ() -> None:
    file = MetricsFile((PATH,), 0)
    assert len(look(file, line(1, training_loss=1)).new) == 1
    assert look(file, line(1, training_loss=2)).new == ()


def test_a_step_that_comes_again_later_is_new() -> None:
    file = MetricsFile((PATH,), 0)
    assert len(look(file, line(5, training_loss=1)).new) == 1
    assert len(look(file, b'{"timestamp": 1768919999, "step": 5, "rank": 0, "training_loss": 2}').new) == 1


def test_a_record_without_step_and_time_is_known_by_its_numbers() -> None:
    file = MetricsFile((PATH,), 0)
    found = [len(look(file, b'{"training_loss": %d}' % loss).new) for loss in (3, 3, 2, 2)]
    assert found == [1, 0, 1, 0]


def test_appended_lines_are_each_told_once() -> None:
    file, data, steps = MetricsFile((PATH,), 0), b"", []
    for step in range(50):
        data += line(step, training_loss=1)
        steps += [told.step for told in look(file, data).new]
    assert steps == list(range(50))


def test_a_file_that_outgrows_a_look_is_read_on_from_where_it_was() -> None:
    file, data, steps = MetricsFile((PATH,), 0), b"", []
    for step in range(2000):
        data += line(step, training_loss=1)
        if step % 97 == 0:
            steps += look_on(file, data)
    steps += look_on(file, data)
    assert len(data) > 2 * WHOLE_BYTES
    assert steps == list(range(2000))
    assert file.wanted().offset > len(data) - 3 * 4096


def test_a_large_file_found_at_once_is_read_whole() -> None:
    file = MetricsFile((PATH,), 0)
    data = b"".join(line(step, training_loss=1) for step in range(5000))
    assert len(data) > PIECE
    assert look_on(file, data) == list(range(5000))


def test_a_large_file_that_was_replaced_by_a_small_one_is_read_from_its_start() -> None:
    file = MetricsFile((PATH,), 0)
    data = b"".join(line(step, training_loss=1) for step in range(2000))
    look_on(file, data)
    assert look_on(file, line(9001, training_loss=1)) == [9001]


def test_half_a_record_is_waited_for() -> None:
    file = MetricsFile((PATH,), 0)
    whole = line(1, training_loss=1)
    first = look(file, whole[:30])
    assert (first.new, first.problem) == ((), "")
    assert len(look(file, whole).new) == 1


def test_an_empty_file_has_nothing_to_tell_yet_however_long_it_stays_so() -> None:
    file = MetricsFile((PATH,), 0)
    assert [look(file, b"").problem for _ in range(5)] == [""] * 5


def test_a_broken_file_stays_broken_while_it_is_being_written_anew() -> None:
    file = MetricsFile((PATH,), 0)
    problems = [look(file, data).problem for data in (b"oops\n", b"", b'{"st', line(1, training_loss=1))]
    assert problems == [f"{PATH}: not JSON"] * 3 + [""]


def test_the_same_half_record_twice_is_a_broken_file() -> None:
    file = MetricsFile((PATH,), 0)
    assert look(file, b'{"step": 1, "trai').problem == ""
    assert look(file, b'{"step": 1, "trai').problem == f"{PATH}: not JSON"


def test_half_records_three_times_in_a_row_are_a_broken_file_and_a_whole_one_mends_it() -> None:
    file = MetricsFile((PATH,), 0)
    problems = [look(file, b'{"step": %d, "trai' % n).problem for n in range(3)]
    assert problems == ["", "", f"{PATH}: not JSON"]
    mended = look(file, line(4, training_loss=1))
    assert (mended.problem, len(mended.new)) == ("", 1)


@pytest.mark.parametrize(
    "garbage", [b"\xff\xfe\x00garbage\n", b"404 not found\n", b"[1, 2]", b"12", b"null\n"]
)
def test_what_never_was_json_objects_is_broken_at_once(garbage: bytes) -> None:
    assert look(MetricsFile((PATH,), 0), garbage).problem == f"{PATH}: not JSON"


def test_a_bad_line_among_good_ones_costs_that_line() -> None:
    found = look(MetricsFile((PATH,), 0), line(1, training_loss=1) + b"oops\n" + line(2, training_loss=1))
    assert ([told.step for told in found.new], found.problem) == ([1, 2], "")


def test_zero_bytes_behind_the_last_line_are_no_line() -> None:
    found = look(MetricsFile((PATH,), 0), line(1, training_loss=1) + b"\0" * 4096)
    assert (len(found.new), found.problem) == (1, "")


def test_a_pretty_printed_object_and_a_list_are_records_too() -> None:
    records, torn, bad = parse(json.dumps(record(1), indent=2).encode())
    assert (len(records), torn, bad) == (1, b"", 0)
    assert len(parse(json.dumps([record(1), record(2)]).encode())[0]) == 2


def test_nan_as_python_writes_it_is_kept() -> None:
    (told,) = look(MetricsFile((PATH,), 0), b'{"step": 1, "training_loss": NaN, "lr": 1e-4}').new
    assert math.isnan(told.metrics["training_loss"])
    assert told.fields()["learning_rate"] == 1e-4


def test_a_value_that_is_no_number_is_refused_by_name_and_the_rest_is_kept() -> None:
    (told,) = look(
        MetricsFile((PATH,), 0),
        b'{"step": 1, "training_loss": "low", "gpu_util": 130, "lr": 0.1, "note": "x"}',
    ).new
    assert told.metrics == {"lr": 0.1}
    assert told.refused == (
        "training_loss must be a number, not 'low'",
        "gpu_util must be between 0 and 100 percent: 130",
    )


def test_records_of_other_ranks_are_not_ours() -> None:
    data = b'{"rank": 0, "step": 1, "loss": 1}\n{"rank": 1, "step": 1, "loss": 2}\n'
    assert [told.metrics["loss"] for told in look(MetricsFile((PATH,), 1), data).new] == [2]
    other = look(MetricsFile((PATH,), 7), data)
    assert (other.new, other.present) == ((), False)


def test_a_record_without_a_rank_in_a_file_that_ranks_share_belongs_to_nobody() -> None:
    data = b'{"step": 1, "loss": 1}\n'
    assert len(look(MetricsFile((PATH,), 3), data).new) == 1
    shared = look(MetricsFile((PATH,), 3, frozenset([PATH])), data)
    assert (shared.new, shared.present) == ((), False)


def test_a_file_that_is_gone_and_one_that_may_not_be_read() -> None:
    file = MetricsFile((PATH,), 0)
    assert file.take(Got(Found.MISSING)) == Look(present=False)
    refused = file.take(Got(Found.UNREADABLE, PATH, reason="permission denied"))
    assert refused.problem == f"{PATH}: permission denied"
    assert file.take(Got(Found.UNCHANGED, PATH)) == Look(present=True)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 200)), max_size=30), st.booleans())
def test_however_an_appended_file_is_cut_every_record_is_told_once(
    growth: list[tuple[int, int]], seen_torn: bool
) -> None:
    file, data, step, steps = MetricsFile((PATH,), 0), b"", 0, []
    for count, cut in growth:
        for _ in range(count):
            step += 1
            data += line(step, training_loss=1.5)
        shown = data[: len(data) - cut % 40] if seen_torn else data
        steps += [told.step for told in look(file, shown).new]
    steps += [told.step for told in look(file, data).new]
    assert steps == list(range(1, step + 1))
