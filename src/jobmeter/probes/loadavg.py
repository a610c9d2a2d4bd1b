"""`/proc/loadavg`: tasks that run, wait for a CPU or sleep uninterruptibly, as a decaying mean."""


def one_minute(text: bytes) -> float | None:
    """Return the 1-minute load; None where the text is not a load line."""
    word, _, _ = text.partition(b" ")
    try:
        return float(word)
    except ValueError:
        return None
