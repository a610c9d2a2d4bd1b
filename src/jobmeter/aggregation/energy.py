"""What a run's energy is made of, by what method each part was found, and what it cost.

A GPU's own counter is measured; power integrated over time misses what happens between two readings; a processor's
energy belongs to everyone on it, and the job's share of it is an estimate by CPU time. What nothing measured has no
part: no constant stands in for it. Fans, disks, memory without a counter and the power supply's losses are in none.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Summary = Mapping[str, int | float | str]

COUNTED, INTEGRATED, SHARED = "measured_counter", "integrated_power", "cpu_time_share"
ACCOUNTED = "another_tool"
JOULES_PER_KWH = 3_600_000

_GPUS = (
    ("nvml_energy", COUNTED),
    ("dcgm_energy", COUNTED),
    ("nvml_energy_estimate", INTEGRATED),
    ("nvsmi_energy_estimate", INTEGRATED),
    ("rocm_energy_estimate", INTEGRATED),
    ("apple_energy_estimate", INTEGRATED),
)
_PROCESSORS = (("rapl_energy_share", SHARED),)
_ACCOUNTED = (
    ("slurm_energy", ACCOUNTED),
    ("pbs_energy", ACCOUNTED),
    ("codecarbon_energy", ACCOUNTED),
)
"""Of imported runs: whole nodes, or a model; it stands alone, never beside a measured part."""


class Part:
    """What one source counted."""

    __slots__ = ("joules", "key", "method")

    def __init__(self, key: str, joules: float, method: str) -> None:
        self.key = key
        self.joules = joules
        self.method = method


def parts(summary: "Summary") -> list[Part]:
    """List what was measured; a GPU read in two ways counts once."""
    found = [part for key, method in _GPUS if (part := _part(summary, key, method)) is not None]
    if found:
        # a machine may hold GPUs with and without a counter, but not two tools that see different ones
        tool = found[0].key.partition("_")[0]
        found = [part for part in found if part.key.startswith(f"{tool}_")]
    found += [part for key, method in _PROCESSORS if (part := _part(summary, key, method)) is not None]
    told = [part for key, method in _ACCOUNTED if (part := _part(summary, key, method)) is not None]
    return found or told[:1]


def _part(summary: "Summary", key: str, method: str) -> Part | None:
    value = summary.get(key)
    return Part(key, value, method) if isinstance(value, int | float) else None


def processors(summary: "Summary") -> float | None:
    """Give what the machine's processors and their memory used, whoever used them."""
    known = [
        value for key in ("rapl_package", "rapl_dram") if isinstance(value := summary.get(key), int | float)
    ]
    return sum(known) if known else None


def account(summary: "Summary", price: str | None) -> "dict[str, object] | None":
    """Lay out a run's energy in joules and kWh, its parts with their methods and, with a price, its cost."""
    found = parts(summary)
    if not found:
        return None
    joules = sum(part.joules for part in found)
    kwh = joules / JOULES_PER_KWH
    shape: dict[str, object] = {
        "joules": joules,
        "kwh": kwh,
        "parts": [{"key": part.key, "joules": part.joules, "method": part.method} for part in found],
    }
    per_kwh, currency = split_price(price)
    if per_kwh is not None:
        shape["energy_cost"] = kwh * per_kwh
        if currency:
            shape["currency"] = currency
    return shape


def sentence(account: "Mapping[str, object]") -> str:
    """Say an account in a few words: `5.40 kJ = 0.0015 kWh, 0.00047 EUR`."""
    joules, kwh, cost = (account.get(name) for name in ("joules", "kwh", "energy_cost"))
    if not isinstance(joules, int | float) or not isinstance(kwh, int | float):
        return ""
    text = f"{scaled_joules(joules)} = {_digits(kwh)} kWh"
    if not isinstance(cost, int | float):
        return text
    return f"{text}, {_digits(cost)} {account.get('currency', '')}".rstrip()


def scaled_joules(joules: float) -> str:
    """Write an amount of energy: `687.54 kJ`."""
    for factor, unit in ((1e9, "GJ"), (1e6, "MJ"), (1e3, "kJ")):
        if joules >= factor:
            return f"{joules / factor:.2f} {unit}"
    return f"{joules:.3g} J"


def _digits(number: float) -> str:
    """Write two significant digits without an exponent; more where there are more before the point."""
    if number >= 1:
        return f"{number:.2f}"
    decimals = 2
    while decimals < 9 and 0 < number < 10 ** (1 - decimals):
        decimals += 1
    return f"{number:.{decimals}f}"


def split_price(text: str | None) -> tuple[float | None, str]:
    """Take a price per kWh apart: `0.31 EUR` is 0.31 in EUR."""
    number, _, currency = (text or "").strip().partition(" ")
    try:
        return float(number), currency.strip()
    except ValueError:
        return None, ""
