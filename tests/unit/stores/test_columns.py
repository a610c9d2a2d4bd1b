import math

from jobmeter.model.view import Window
from jobmeter.stores import Statistics, columns


def window(
    second: int, values: dict[tuple[str, str], object], clock: tuple[float, float] | None = None
) -> Window:
    return Window(
        timestamp=float(second),
        num_samples=1,
        clock={} if clock is None else {"a": clock},
        values=values,  # type: ignore[arg-type]  # tests pass odd values on purpose
    )


def test_windows_of_one_shape_become_columns() -> None:
    block = [window(1, {("a_x", ""): 1, ("a_y", ""): 2.5}), window(2, {("a_x", ""): 3, ("a_y", ""): 4.5})]
    assert [(column.name, column.places, list(column.values)) for column in columns.columns(block)] == [
        (("a_x", ""), (0, 1), [1, 3]),
        (("a_y", ""), (0, 1), [2.5, 4.5]),
    ]


def test_a_key_that_is_missing_in_between_keeps_its_places() -> None:
    block = [
        window(1, {("a_x", ""): 1}),
        window(2, {("a_y", ""): 2}),
        window(3, {("a_y", ""): 4, ("a_x", ""): 3}),
    ]
    assert [(column.name[0], column.places, list(column.values)) for column in columns.columns(block)] == [
        ("a_x", (0, 2), [1, 3]),
        ("a_y", (1, 2), [2, 4]),
    ]


def test_labels_and_tallies_are_no_columns() -> None:
    block = [
        window(1, {("a_cmd", "7@9"): "make", ("a_stat", "7@9"): {"S": 1}, ("a_x", ""): "n/a"}),
        window(2, {("a_x", ""): 5}),
    ]
    assert [(column.name, column.places, list(column.values)) for column in columns.columns(block)] == [
        (("a_x", ""), (1,), [5]),
    ]


def test_split_parts_the_job_from_its_processes() -> None:
    job, instances = columns.split(
        [window(1, {("a_x", ""): 1, ("a_x", "7@9"): 2}), window(2, {("a_x", ""): 3})]
    )
    assert [dict(one.values) for one in job] == [{("a_x", ""): 1}, {("a_x", ""): 3}]
    assert [dict(one.values) for one in instances] == [{("a_x", "7@9"): 2}]


def test_names_no_database_takes_are_made_visible() -> None:
    _, instances = columns.split([window(1, {("a_x", "caf\udce9\0"): 1})])
    assert list(instances[0].values) == [("a_x", "caf\\udce9\\x00")]


def test_spans_are_free_of_float_noise() -> None:
    block = [window(1, {}, (5123.456789, 5124.456912))]
    assert columns.spans(block, "a", (0,)) == [1.000123]
    assert columns.spans(block, "b", (0,)) is None


def test_time_never_goes_backwards() -> None:
    assert list(columns.rising([1.0, 2.0, 1.5, 3.0])) == [1.0, 2.0, 2.0, 3.0]


def test_statistics_leave_nan_out() -> None:
    assert columns.statistics([3, 1, 2]) == Statistics(3, 1, 3, 6, 2)
    found = columns.statistics([2.0, math.nan, 1.0])
    assert found == Statistics(2, 1.0, 2.0, 3.0, 1.0)
    empty = columns.statistics([math.nan])
    assert (empty.n, empty.total) == (0, 0.0)


def test_statistics_of_stretches_merge() -> None:
    parts = [
        Statistics(2, 1.0, 5.0, 6.0, 5.0),
        Statistics(0, math.nan, math.nan, 0.0, math.nan),
        Statistics(1, 0.5, 0.5, 0.5, 0.5),
    ]
    assert columns.merge(parts) == Statistics(3, 0.5, 5.0, 6.5, 0.5)
