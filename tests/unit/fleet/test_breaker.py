"""The breaker opens after failures in a row, allows one trial, closes or opens again."""

from hypothesis import given
from hypothesis import strategies as st

from jobmeter.fleet.breaker import CircuitBreaker, State
from jobmeter.fleet.settings import BreakerPolicy


class Time:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def breaker(time: Time, chance: float = 0.0) -> CircuitBreaker:
    policy = BreakerPolicy(failures=3, open_seconds=30, longest_seconds=100)
    return CircuitBreaker(policy, time, lambda: chance)


def open_it(one: CircuitBreaker) -> None:
    assert [one.allows() and one.failed("no answer") for _ in range(3)] == [False, False, True]


def test_it_opens_at_the_third_failure_in_a_row_and_says_why() -> None:
    one = breaker(Time())
    open_it(one)
    assert one.is_open()
    assert (one.state, one.failures, one.opened, one.last_error) == (State.OPEN, 3, 1, "no answer")
    assert not one.allows()


def test_a_success_between_failures_starts_the_count_anew() -> None:
    one = breaker(Time())
    one.failed("a")
    one.failed("b")
    assert not one.succeeded()
    assert not one.failed("c")
    assert one.state is State.CLOSED


def test_half_open_allows_one_trial_and_no_other_until_it_has_ended() -> None:
    time = Time()
    one = breaker(time)
    open_it(one)
    time.now += 29.9
    assert not one.allows()
    time.now += 0.2
    assert one.allows()
    assert one.state is State.HALF_OPEN
    assert [one.allows() for _ in range(5)] == [False] * 5
    assert one.succeeded()
    assert (one.state, one.failures, one.trial_due) == (State.CLOSED, 0, None)
    assert one.allows()


def test_a_failed_trial_opens_it_again_for_twice_as_long_up_to_a_bound() -> None:
    time = Time()
    one = breaker(time)
    open_it(one)
    pauses = []
    for _ in range(4):
        assert one.trial_due is not None
        pauses.append(one.trial_due - time.now)
        time.now = one.trial_due
        assert one.allows()
        assert not one.failed("still")
    assert pauses == [30, 60, 100, 100]
    assert one.opened == 1
    assert one.allows() is False
    time.now += 100
    assert one.allows()
    one.succeeded()
    open_it(one)
    assert one.trial_due == time.now + 30


def test_pauses_vary_by_a_tenth() -> None:
    time = Time()
    one = breaker(time, chance=1.0)
    open_it(one)
    assert one.trial_due == time.now + 33


@given(st.lists(st.sampled_from(["ok", "fail", "wait"]), max_size=60))
def test_never_more_than_one_look_is_under_way_unless_closed(moves: list[str]) -> None:
    time = Time()
    one = breaker(time)
    for move in moves:
        if move == "wait":
            time.now += 31
            continue
        if not one.allows():
            assert one.state is State.OPEN
            continue
        if one.state is State.HALF_OPEN:
            assert not one.allows()
        one.succeeded() if move == "ok" else one.failed("x")
        assert one.state is not State.HALF_OPEN
