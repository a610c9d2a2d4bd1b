"""Self-test: can this machine measure a job well, keep it safely, and does a real job come out right?"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module

from jobmeter.probes.paths import Paths


class Verdict(Enum):
    """`warn` measures with less truth or comfort, `fail` does not work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Place:
    """What is being examined."""

    paths: Paths
    home: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `repair` is what to do about it."""

    verdict: Verdict
    fact: str
    repair: str = ""


def ok(fact: str) -> Finding:
    """Find nothing wrong."""
    return Finding(Verdict.OK, fact)


def warn(fact: str, repair: str = "") -> Finding:
    """Find something that costs truth or comfort."""
    return Finding(Verdict.WARN, fact, repair)


def fail(fact: str, repair: str = "") -> Finding:
    """Find something that does not work."""
    return Finding(Verdict.FAIL, fact, repair)


Check = Callable[[Place], Finding]

ALL: dict[str, str] = {
    "cache": "jobmeter.service.doctor.keeping:check_cache",
    "cgroup": "jobmeter.service.doctor.kernel:check_cgroup",
    "clocks": "jobmeter.service.doctor.kernel:check_clocks",
    "descriptors": "jobmeter.service.doctor.kernel:check_descriptors",
    "disk": "jobmeter.service.doctor.keeping:check_disk",
    "home": "jobmeter.service.doctor.keeping:check_home",
    "measured job": "jobmeter.service.doctor.measured:check_measured_job",
    "perf": "jobmeter.service.doctor.kernel:check_perf",
    "pidfd": "jobmeter.service.doctor.kernel:check_pidfd",
    "pressure": "jobmeter.service.doctor.kernel:check_pressure",
    "proc": "jobmeter.service.doctor.kernel:check_proc",
    "python": "jobmeter.service.doctor.keeping:check_python",
    "sqlite": "jobmeter.service.doctor.keeping:check_sqlite",
    "subreaper": "jobmeter.service.doctor.kernel:check_subreaper",
}


def load(name: str) -> Check:
    """Import a check by its name."""
    module, _, function = ALL[name].partition(":")
    check: Check = getattr(import_module(module), function)
    return check
