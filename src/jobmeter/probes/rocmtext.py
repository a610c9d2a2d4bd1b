"""What `rocm-smi -a --json` says, live or in a file somebody kept: all values are texts, names differ by release.

`GPU use (%)` of older cards is of an instant. Where a card names no unique id, its number is its name. Clocks come
as `(1725Mhz)`, one level after another; power has been called average, current and socket power.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MHZ = 1_000_000

_FIELDS: "tuple[tuple[str, str, float], ...]" = (
    ("gpu use (%)", "util", 1),
    ("gpu memory use (%)", "mem_util", 1),
    ("gpu memory allocated (vram%)", "mem_percent", 1),
    ("gpu memory read/write activity (%)", "mem_util", 1),
    ("vram total used memory (b)", "mem_used", 1),
    ("vram total memory (b)", "mem_total", 1),
    ("gtt total used memory (b)", "gtt_used", 1),
    ("average graphics package power (w)", "power", 1),
    ("current socket graphics package power (w)", "power", 1),
    ("current graphics package power (w)", "power", 1),
    ("max graphics package power (w)", "power_limit", 1),
    ("temperature (sensor edge) (c)", "temp", 1),
    ("temperature (sensor junction) (c)", "junction_temp", 1),
    ("temperature (sensor memory) (c)", "mem_temp", 1),
    ("fan speed (%)", "fan", 1),
    ("sclk clock speed:", "sm_clock", MHZ),
    ("mclk clock speed:", "mem_clock", MHZ),
    ("voltage (mv)", "voltage", 0.001),
    ("accumulated energy (uj)", "energy_counter", 1e-6),
    ("pcie replay count", "pcie_replays", 1),
)
"""By name in lower case: our quantity and the base units of one printed unit; the first that holds a number wins."""

_NAMES = ("card series", "card model", "device name", "gfx version")
_ABSENT = frozenset(("", "n/a", "none", "unknown", "n/a "))


def parse(text: "str | bytes") -> "dict[str, dict[str, int | float | str]] | None":
    """Read every card by its unique id, else by its number; None where the text is no such JSON."""
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    cards = {name: told for name, told in found.items() if is_card(name) and isinstance(told, dict)}
    return {
        identity(name, told): values(told) | {"index": name[len("card") :]} for name, told in cards.items()
    }


def is_card(name: str) -> bool:
    """Tell a card from the `system` section."""
    return name.startswith("card") and name[len("card") :].isdigit()


def identity(name: str, told: "Mapping[str, object]") -> str:
    """Name a card so that it is found again: by its unique id, else by its number."""
    unique = str(told.get("Unique ID", "")).strip()
    return name[len("card") :] if unique.lower() in _ABSENT else unique


def values(told: "Mapping[str, object]") -> "dict[str, int | float | str]":
    """Give one card's values in base units; what is `N/A` is left out."""
    lowered = {key.strip().lower(): str(cell).strip() for key, cell in told.items()}
    found: dict[str, int | float | str] = {}
    for field, quantity, factor in _FIELDS:
        number = _number(lowered.get(field, ""), factor)
        if number is not None and quantity not in found:
            found[quantity] = number
    for field in _NAMES:
        name = lowered.get(field, "")
        if name.lower() not in _ABSENT and not name.startswith("0x"):
            found["name"] = name
            break
    return found


def _number(cell: str, factor: float) -> "int | float | None":
    digits = cell.strip("()").lower().removesuffix("mhz").removesuffix("%").strip()
    try:
        value = float(digits)
    except ValueError:
        return None
    if value != value or value in (float("inf"), float("-inf")):
        return None
    scaled = value * factor
    return int(scaled) if scaled.is_integer() else round(scaled, 9)
