"""`/proc/meminfo`: the machine's memory. Lines without `kB` are counts of huge pages, not sizes."""

_NEWLINE = 10
_LONGEST_VALUE = 32


def field_bytes(text: bytes, name: bytes) -> int | None:
    """Return one size in bytes; None where this kernel has no such line or it is not a size."""
    at = text.find(name + b":")
    while at > 0 and text[at - 1] != _NEWLINE:
        at = text.find(name + b":", at + 1)
    if at < 0:
        return None
    begin = at + len(name) + 1
    words = text[begin : begin + _LONGEST_VALUE].split(None, 2)
    if len(words) < 2 or words[1] != b"kB" or not words[0].isdigit():
        return None
    return int(words[0]) * 1024


def swap_used_bytes(text: bytes) -> int | None:
    """Return swap in use: total minus free; None where swap is not reported."""
    total, free = field_bytes(text, b"SwapTotal"), field_bytes(text, b"SwapFree")
    if total is None or free is None:
        return None
    return total - free
