"""How many cores a run needs, by what it used over time.

What can mislead: work that waited for a core it did not get looks like work that needed none, so a run that
was throttled, or had as many threads as cores, is given what it had and no more.
"""

import math
from collections.abc import Sequence

import numpy as np

STRETCH = 0.05
"""How much longer a run may take with fewer cores."""


def needed(cpu_seconds: Sequence[float], spans: Sequence[float]) -> float | None:
    """Find the least whole number of cores that does not stretch the run; None where nothing was sampled."""
    used, lasted = np.array(cpu_seconds, dtype=float), np.array(spans, dtype=float)
    real = lasted > 0
    used, lasted = used[real], lasted[real]
    if not len(used):
        return None
    allowed = (1 + STRETCH) * float(lasted.sum())
    most = max(math.ceil(float((used / lasted).max())), 1)
    # each window's work takes its own time, or longer where it has too few cores
    return float(
        next(
            cores for cores in range(1, most + 1) if float(np.maximum(used / cores, lasted).sum()) <= allowed
        )
    )
