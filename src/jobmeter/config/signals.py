"""Signal names and numbers without the cost of the `signal` module's enums."""

import _signal


def number(name: str) -> int:
    """Give the number of `USR1`, `SIGUSR1` or `10`."""
    if name.isdecimal() and 0 < int(name) < _signal.NSIG:
        return int(name)
    word = name.upper()
    word = word if word.startswith("SIG") else f"SIG{word}"
    value = getattr(_signal, word, None)
    if not isinstance(value, int) or word.startswith("SIG_"):
        raise ValueError(f"unknown signal {name}; use a name such as USR1 or TERM")
    return value


def name(number_: int) -> str:
    """Give the name of a signal number, `SIG35` for those without one."""
    for word in sorted(dir(_signal)):
        if word.startswith("SIG") and not word.startswith("SIG_") and getattr(_signal, word) == number_:
            return word
    return f"SIG{number_}"
