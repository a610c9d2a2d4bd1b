"""The measurements of a collection. GPU figures that a rank tells itself have keys of their own (`fleet_`)."""

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit


def _gauge(key: str, unit: Unit, scope: Scope, stats: tuple[Stat, ...], about: str) -> Measurement:
    return Measurement(key, Kind.GAUGE, unit, scope, (Reduce.LAST,), stats, about)


def _label(key: str, about: str) -> Measurement:
    return Measurement(key, Kind.LABEL, Unit.NONE, Scope.DEVICE, (Reduce.LAST,), (), about)


_BOTH = (Stat.MEAN, Stat.PEAK)

MEASUREMENTS = (
    _gauge("fleet_util", Unit.PERCENT, Scope.DEVICE, _BOTH, "GPU utilisation as a rank tells it, by rank"),
    _gauge(
        "fleet_mem_used", Unit.BYTES, Scope.DEVICE, _BOTH, "GPU memory in use as a rank tells it, by rank"
    ),
    _gauge("fleet_look", Unit.SECONDS, Scope.HOST, (), "how long one look at a target took, by target"),
    _label("fleet_rank", "the rank that uses a GPU"),
    _label("fleet_host", "the target a GPU belongs to"),
    _gauge("nvsmi_util", Unit.PERCENT, Scope.DEVICE, _BOTH, "share of time in which a kernel ran on the GPU"),
    _gauge("nvsmi_mem_util", Unit.PERCENT, Scope.DEVICE, _BOTH, "share of time in which GPU memory was used"),
    _gauge("nvsmi_mem_used", Unit.BYTES, Scope.DEVICE, _BOTH, "GPU memory in use by everyone"),
    _gauge("nvsmi_mem_total", Unit.BYTES, Scope.DEVICE, (Stat.PEAK,), "memory of the GPU"),
    _gauge("nvsmi_power", Unit.WATTS, Scope.DEVICE, _BOTH, "power the board draws"),
    _gauge("nvsmi_temp", Unit.CELSIUS, Scope.DEVICE, _BOTH, "temperature of the GPU"),
)

DEFINITIONS = {one.key: one for one in MEASUREMENTS}
