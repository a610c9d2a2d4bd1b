"""How much may come at once."""

from jobmeter.web import rates


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def test_a_burst_is_allowed_and_then_the_steady_rate() -> None:
    clock = Clock()
    buckets = rates.Buckets(2.0, clock)
    assert [buckets.take("a") for _ in range(8)] == [0] * 8  # four seconds' worth
    assert buckets.take("a") == 1
    clock.advance(0.5)
    assert buckets.take("a") == 0
    assert buckets.take("a") == 1


def test_one_client_does_not_use_up_anothers() -> None:
    buckets = rates.Buckets(1.0, Clock())
    assert [buckets.take("a") for _ in range(5)] == [0, 0, 0, 0, 1]
    assert buckets.take("b") == 0


def test_a_slow_rate_says_how_long_to_wait() -> None:
    buckets = rates.Buckets(0.1, Clock())
    assert [buckets.take("a"), buckets.take("a")] == [0, 10]


def test_who_was_silent_for_long_has_no_more_than_a_burst() -> None:
    clock = Clock()
    buckets = rates.Buckets(1.0, clock)
    buckets.take("a")
    clock.advance(1e6)
    assert [buckets.take("a") for _ in range(5)] == [0, 0, 0, 0, 1]


def test_many_clients_take_bounded_memory() -> None:
    buckets = rates.Buckets(1.0, Clock())
    for number in range(10_000):
        buckets.take(f"10.0.{number // 256}.{number % 256}")
    assert len(buckets._levels) == 4096


def test_a_budget_is_given_and_comes_back() -> None:
    budget = rates.Budget(10)
    assert [budget.take(6), budget.take(6), budget.take(4), budget.take(1)] == [True, False, True, False]
    budget.give_back(6)
    assert budget.take(6)
