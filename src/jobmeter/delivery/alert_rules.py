"""How an alert turns: pending, firing, resolved. Pure: one sign in, the new standing and what to tell of it out.

Durations are added up from sign to sign and never taken as the distance of two wall clocks, so that a clock that
is set, a laptop that slept or a server that was down neither fires nor resolves anything: between two signs at
most `LONGEST_STEP_SECONDS` count, and never less than none. The standing is all the memory there is; one that
was stored and read again goes on where it was.
"""

from dataclasses import replace

from jobmeter.model.alert import Change, Holds, Rule, Sign, Standing, State, Turn

LONGEST_STEP_SECONDS = 300.0
"""For how long a value is taken to hold until the next one is seen."""

Turned = tuple[Standing | None, Change | None]


def advance(rule: Rule, known: Standing | None, run_id: str, sign: Sign) -> Turned:
    """Give where an alert stands after one more sign, and its turn where it took one."""
    if sign.happened:
        return _happen(rule, known, run_id, sign)
    if known is None or known.state is State.RESOLVED:
        return _begin(rule, known, run_id, sign)
    if known.state is State.PENDING:
        return _wait(rule, known, sign)
    return _burn(rule, known, sign)


def end(known: Standing, at: float, reason: str) -> Turned:
    """Close an alert whose run is over: what fires is resolved, what waited is forgotten."""
    if known.state is State.PENDING:
        return None, None
    if known.state is State.RESOLVED or known.until is not None:
        return known, None
    return _resolved(replace(known, sentence=f"{known.sentence}; {reason}", updated_at=at), at)


def _happen(rule: Rule, known: Standing | None, run_id: str, sign: Sign) -> Turned:
    if known is not None and known.state_at(sign.at) is State.FIRING:
        again = replace(known, count=known.count + 1, updated_at=sign.at, sentence=sign.sentence)
        return again, None
    fresh = replace(_fresh(rule, run_id, sign), until=sign.at + rule.lasts_seconds)
    return _fired(fresh, sign)


def _begin(rule: Rule, known: Standing | None, run_id: str, sign: Sign) -> Turned:
    if sign.holds is not Holds.YES:
        return known, None
    fresh = _fresh(rule, run_id, sign)
    return (fresh, None) if rule.for_seconds > 0 else _fired(fresh, sign)


def _wait(rule: Rule, known: Standing, sign: Sign) -> Turned:
    if sign.holds is not Holds.YES:
        return None, None
    waited = replace(_seen(known, sign), held_seconds=known.held_seconds + _step(known, sign))
    return _fired(waited, sign) if waited.held_seconds >= rule.for_seconds else (waited, None)


def _burn(rule: Rule, known: Standing, sign: Sign) -> Turned:
    if sign.holds is Holds.NO:
        clear = 0.0 if known.clear_seconds is None else known.clear_seconds + _step(known, sign)
        better = replace(_seen(known, sign), clear_seconds=clear)
        return _resolved(better, sign.at) if clear >= rule.clear_for_seconds else (better, None)
    burning = replace(_seen(known, sign), clear_seconds=None)
    if burning.told_at is None or sign.at < burning.told_at:
        # the wall clock was set back: the time until it is told again begins anew
        return replace(burning, told_at=sign.at), None
    if rule.repeat_seconds is None or sign.at - burning.told_at < rule.repeat_seconds:
        return burning, None
    told = replace(burning, told_at=sign.at)
    return told, Change(turn=Turn.REPEATED, standing=told, at=sign.at)


def _fresh(rule: Rule, run_id: str, sign: Sign) -> Standing:
    return Standing(
        rule=rule.name,
        run_id=run_id,
        instance=sign.instance,
        state=State.PENDING,
        severity=rule.severity,
        sentence=sign.sentence,
        since=sign.at,
        updated_at=sign.at,
        clock=sign.clock,
        value=sign.value,
    )


def _seen(known: Standing, sign: Sign) -> Standing:
    return replace(
        known,
        updated_at=sign.at,
        clock=sign.clock,
        value=sign.value,
        sentence=sign.sentence or known.sentence,
    )


def _step(known: Standing, sign: Sign) -> float:
    """Say how much time to count since the last sign."""
    return min(max(sign.clock - known.clock, 0.0), LONGEST_STEP_SECONDS)


def _fired(standing: Standing, sign: Sign) -> tuple[Standing, Change]:
    firing = replace(standing, state=State.FIRING, fired_at=sign.at, told_at=sign.at, resolved_at=None)
    return firing, Change(turn=Turn.FIRED, standing=firing, at=sign.at)


def _resolved(standing: Standing, at: float) -> tuple[Standing, Change]:
    done = replace(standing, state=State.RESOLVED, resolved_at=at, clear_seconds=None)
    return done, Change(turn=Turn.RESOLVED, standing=done, at=at)
