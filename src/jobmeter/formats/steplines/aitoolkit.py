"""The timer blocks that ai-toolkit prints every `performance_log_every` steps, below a bar.

` - 1.2345s avg - train_loop, num = 10`: means over the last ten uses. They belong to the step the bar stood at.
The bars themselves are read as any bar.
"""

import re

from jobmeter.formats.steplines.row import Memory, Row

_HEAD = re.compile(r"Timer '(?P<name>[^']*)':\s*$")
_SAMPLING = frozenset(("Generating Images", "Generating Samples"))
_LINE = re.compile(r"^\s*- (?P<seconds>\d+\.\d+)s avg - (?P<name>.+?), num = \d+\s*$")


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    return "Timer '" in shape or "s avg - " in shape


def parse(text: str, memory: Memory) -> Row | None:
    """Collect the lines of a block; the first line after it gives the row."""
    if "Timer '" in text and _HEAD.search(text):
        memory.timers, memory.expects = {}, 1
        return None
    found = _LINE.match(text) if "s avg - " in text else None
    if found is not None:
        memory.timers[f"{found['name']}_s"] = float(found["seconds"])
        memory.expects = 1
    return None


def close(text: str, memory: Memory) -> Row | None:
    """Give the row of a block that ended, if one did before this line."""
    if not memory.timers or _LINE.match(text):
        return None
    metrics: dict[str, int | float] = dict(memory.timers)
    memory.timers = {}
    return Row(metrics=metrics, step=memory.step)


def is_sampling(words: str) -> bool:
    """Tell the bar that counts the images a training draws to show how far it is."""
    return words.strip(" :") in _SAMPLING
