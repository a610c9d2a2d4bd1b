"""Where the circuit breaker before a driver or a slow tool stands; the recorder imports it."""

from jobmeter.model.words import Enum


class Breaker(Enum):
    """Whether something that may hang is asked."""

    CLOSED = "closed"
    """It answers."""
    OPEN = "open"
    """It failed: it is not asked until a pause is over."""
    TRIAL = "trial"
    """It was asked again and has not answered yet."""
    UNUSABLE = "unusable"
    """It said that there is nothing to read here."""
