"""How rules speak: a number they predict with its interval, a size that people write, a place for a setting."""

from jobmeter.analysis import configs
from jobmeter.analysis.fits import Estimate
from jobmeter.analysis.rooms import Room
from jobmeter.model import units
from jobmeter.model.report import Evidence, Prediction, Verdict

MIB = 1 << 20
STEP_SECONDS = "step_seconds"


def about(value: float, share: float) -> Estimate:
    """Give a value with as much to either side."""
    return Estimate(value, value * (1 - share), value * (1 + share))


def bytes_prediction(room: Room, after: Estimate) -> Prediction:
    """Predict the peak of a memory; it is never less than nothing."""
    low, value = max(after.low, 0.0), max(after.value, 0.0)
    return Prediction(
        quantity=room.quantity,
        unit="bytes",
        before=float(round(room.peak_bytes)),
        after=float(round(value)),
        low=float(round(low)),
        high=float(round(max(after.high, value))),
    )


def seconds_prediction(quantity: str, before: float, after: Estimate) -> Prediction:
    """Predict a time."""
    value = float(f"{after.value:.6g}")
    low, high = min(float(f"{after.low:.6g}"), value), max(float(f"{after.high:.6g}"), value)
    return Prediction(
        quantity=quantity, unit="seconds", before=float(f"{before:.6g}"), after=value, low=low, high=high
    )


def between(low: float, high: float) -> str:
    """Say an interval of sizes; negative ones are nothing."""
    return f"{units.format_bytes(max(low, 0.0))} to {units.format_bytes(max(high, 0.0))}"


def setting_evidence(found: configs.Setting) -> Evidence:
    """Quote a setting."""
    plain = isinstance(found.value, int | float | str) and not isinstance(found.value, bool)
    value = found.value if plain else None
    return Evidence(sentence=f"{found.path} is {found.value}", source="config", value=value)  # type: ignore[arg-type]  # checked above


def verdict_evidence(verdict: Verdict) -> tuple[Evidence, ...]:
    """Quote what a verdict stands on; its own sentence where nothing else is known."""
    return verdict.evidence or (Evidence(sentence=verdict.sentence, source="verdict"),)


def mebibytes(size: float) -> str:
    """Write a size as schedulers read it: about one part in fifty, rounded up."""
    step = MIB
    while step * 64 < size:
        step *= 2
    return f"{-(-int(size) // step) * step // MIB}M"
