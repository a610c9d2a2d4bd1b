"""`sysctl -n vm.swapusage` of macOS: `total = 2048.00M  used = 1185.25M  free = 862.75M  (encrypted)`."""

_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


def used_bytes(text: str) -> int | None:
    """Return swap in use, exact to a hundredth of the printed unit; None where the text is something else."""
    _, found, rest = text.partition("used = ")
    word, _, _ = rest.partition(" ")
    unit = _UNITS.get(word[-1:])
    if not found or unit is None:
        return None
    try:
        # some locales print a comma
        return round(float(word[:-1].replace(",", ".")) * unit)
    except ValueError:
        return None
