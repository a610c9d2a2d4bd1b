"""How much memory a job needed at its largest: what only the job itself could give back.

Page cache is not in it: a job that reads and writes large files fills its limit with them and is in no danger.
The charged peak less the cache is believed only of a job that cached little, because cache that came and went
between two samples was not seen. What can mislead: where no cgroup was read, sizes of processes are all there
is, files they mapped included.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from jobmeter.analysis import readings
from jobmeter.model.run import Run
from jobmeter.model.view import RunView

_UNRECLAIMABLE = "cgroup_mem_unreclaimable"
_SIZES = (
    *("proc_pss_total", "psutil_pss_total", "docker_mem_used", "cgroup_outer_mem_unreclaimable"),
    *("proc_rss_total", "psutil_rss_total", "ps_rss_total"),
)
"""What stands in where the own cgroup was not read, the best first."""
_LITTLE_CACHE = 0.1
"""Of the charged peak: with more, what came between two samples may have been cache."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The most memory a job needed, and where that is known from."""

    key: str
    size_bytes: float
    moment: float | None = None


def memory_peak(view: RunView) -> Peak | None:
    """Find the most memory that only the job could give back; None where it was not measured."""
    own = [*_sampled(view, _UNRECLAIMABLE), *_summed(view.run, "cgroup_peak_mem_unreclaimable")]
    if own:
        return max([*own, *_charged(view.run)], key=lambda peak: peak.size_bytes)
    sampled = next((peak for key in _SIZES for peak in _sampled(view, key)), None)
    headline = view.run.headline.get("memory_peak_bytes")
    if headline is None:
        return sampled
    return Peak(", ".join(headline.keys), headline.value, None if sampled is None else sampled.moment)


def _sampled(view: RunView, key: str) -> Iterator[Peak]:
    found = readings.first(view, key)
    if found is not None:
        top = int(found.values.argmax())
        yield Peak(key, float(found.values[top]), float(found.times[top]))


def _summed(run: Run, key: str) -> Iterator[Peak]:
    size_bytes = readings.number(run, key)
    if size_bytes is not None:
        yield Peak(key, size_bytes)


def _charged(run: Run) -> Iterator[Peak]:
    """Give what the kernel's own mark tells of a moment that no sample saw."""
    charged, cache = readings.number(run, "cgroup_mem_peak"), readings.number(run, "cgroup_peak_mem_file")
    if charged is None or cache is None:
        return
    # names and inodes the kernel remembers can be dropped as well
    droppable = cache + (readings.number(run, "cgroup_peak_mem_kernel") or 0.0)
    if droppable <= _LITTLE_CACHE * charged:
        yield Peak("cgroup_mem_peak", charged - cache)
