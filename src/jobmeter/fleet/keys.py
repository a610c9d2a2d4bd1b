"""The measurements of a collection. GPU figures that a rank tells itself have keys of their own (`fleet_`)."""

from jobmeter.collectors import nvsmi
from jobmeter.fleet.endpoint import GPU_COLUMNS
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import nvsmitext


def _gauge(key: str, unit: Unit, scope: Scope, stats: tuple[Stat, ...], about: str) -> Measurement:
    return Measurement(key, Kind.GAUGE, unit, scope, (Reduce.LAST,), stats, about)


def _label(key: str, about: str) -> Measurement:
    return Measurement(key, Kind.LABEL, Unit.NONE, Scope.DEVICE, (Reduce.LAST,), (), about)


_BOTH = (Stat.MEAN, Stat.PEAK)
_ASKED = {f"nvsmi_{nvsmitext.QUANTITIES[name][0]}" for name in GPU_COLUMNS if name in nvsmitext.QUANTITIES}

MEASUREMENTS = (
    _gauge("fleet_util", Unit.PERCENT, Scope.DEVICE, _BOTH, "GPU utilisation as a rank tells it, by rank"),
    _gauge(
        "fleet_mem_used", Unit.BYTES, Scope.DEVICE, _BOTH, "GPU memory in use as a rank tells it, by rank"
    ),
    _gauge("fleet_look", Unit.SECONDS, Scope.HOST, (), "how long one look at a target took, by target"),
    _label("fleet_rank", "the rank that uses a GPU"),
    _label("fleet_host", "the target a GPU belongs to"),
    *(one for one in nvsmi.MEASUREMENTS if one.key in _ASKED),
)

DEFINITIONS = {one.key: one for one in MEASUREMENTS}
