"""How the measurements of GPUs are defined, whichever tool reads them."""

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit

PEAK, MEAN = Stat.PEAK, Stat.MEAN


def gauge(
    key: str, unit: Unit, stats: tuple[Stat, ...], about: str, scope: Scope = Scope.DEVICE
) -> Measurement:
    """Define a reading; its windows keep what its summary is told by first."""
    reduce = Reduce.MEAN if stats[:1] == (MEAN,) else Reduce.MAX
    return Measurement(key, Kind.GAUGE, unit, scope, (reduce,), stats, about)


def counter(key: str, unit: Unit, about: str) -> Measurement:
    """Define what only grows."""
    return Measurement(key, Kind.COUNTER, unit, Scope.DEVICE, (Reduce.DELTA,), (Stat.TOTAL,), about)


def label(key: str, about: str) -> Measurement:
    """Define a text that names a device."""
    return Measurement(key, Kind.LABEL, Unit.NONE, Scope.DEVICE, (Reduce.LAST,), (), about)
