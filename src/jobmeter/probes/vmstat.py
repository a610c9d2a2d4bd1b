"""`/proc/vmstat`: kernel event counters, one `name value` a line, since boot."""


def counter(text: bytes, name: bytes) -> int | None:
    """Return one counter; None where this kernel does not keep it (`oom_kill` came with 4.13)."""
    padded = b"\n" + text
    begin = padded.find(b"\n" + name + b" ")
    if begin < 0:
        return None
    words = padded[begin + 1 :].split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None
