"""When proportional sizes are read: rarely, on new highs, within a budget."""

from jobmeter.model.budget import PssBudget

MIB = 1 << 20


def test_the_first_sight_is_read_at_once() -> None:
    assert PssBudget(100.0).due(100.0, 5 * MIB)


def test_a_large_sum_that_grows_is_given_time_to_settle() -> None:
    budget = PssBudget(100.0)
    assert budget.due(100.0, 100 * MIB)
    assert not budget.due(101.0, 200 * MIB)
    assert not budget.due(102.0, 400 * MIB)
    assert budget.due(103.0, 400 * MIB)


def test_a_sum_that_never_settles_is_read_after_three_seconds() -> None:
    budget = PssBudget(100.0)
    grown = [budget.due(100.0 + second, (200 + 100 * second) * MIB) for second in range(5)]
    assert grown == [True, False, False, True, True]


def test_only_a_new_high_or_thirty_seconds_bring_another_reading() -> None:
    budget = PssBudget(100.0)
    assert budget.due(100.0, 10 * MIB)
    budget.spent(100.0, 0.0001)
    budget.kept(100.0, 10 * MIB)
    assert not budget.due(101.0, 10 * MIB)
    assert not budget.due(129.9, 9 * MIB)
    assert budget.due(130.0, 9 * MIB)
    assert budget.due(101.0, 11 * MIB)


def test_fifty_milliseconds_are_granted_ahead_and_then_half_a_percent_of_a_core() -> None:
    budget = PssBudget(100.0)
    budget.spent(100.0, 0.040)  # 8 s of the 10 granted
    budget.kept(100.0, 10 * MIB)
    assert budget.due(101.0, 20 * MIB)
    budget.spent(101.0, 0.040)
    budget.kept(101.0, 20 * MIB)
    assert not budget.due(105.9, 40 * MIB)
    assert budget.due(106.0, 40 * MIB)


def test_a_torn_reading_costs_but_does_not_count() -> None:
    budget = PssBudget(100.0)
    budget.spent(100.0, 0.001)
    assert budget.due(101.0, 10 * MIB)


def test_a_huge_process_is_not_walked_until_that_was_saved_up() -> None:
    """100 GiB of small pages take about a second, 200 s of what half a percent of a core is."""
    budget = PssBudget(100.0)
    assert not budget.due(100.0, 100 << 30)
    assert not budget.due(279.0, 100 << 30)
    assert budget.due(281.0, 100 << 30)
