"""What `rocm-smi --json` prints: one moment of every AMD card. The file has no clock."""

from collections.abc import Iterable
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import loose_json, monitorlog
from jobmeter.formats.monitorlog import gauge, label
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Stat, Unit
from jobmeter.model.view import Window
from jobmeter.probes import rocmtext

ORIGIN = "rocm_smi"
_MEAN_PEAK, _PEAK = (Stat.MEAN, Stat.PEAK), (Stat.PEAK,)
DEFINITIONS = monitorlog.table(
    (
        gauge("rocm_util", Unit.PERCENT, "use of the GPU", stats=_MEAN_PEAK),
        gauge("rocm_mem_util", Unit.PERCENT, "use of the memory's bandwidth", stats=_MEAN_PEAK),
        gauge("rocm_mem_percent", Unit.PERCENT, "GPU memory in use, as a share", stats=_MEAN_PEAK),
        gauge("rocm_mem_used", Unit.BYTES, "GPU memory (VRAM) in use by everyone"),
        gauge("rocm_mem_total", Unit.BYTES, "memory of the GPU", stats=_PEAK),
        gauge("rocm_gtt_used", Unit.BYTES, "host memory the GPU uses"),
        gauge("rocm_power", Unit.WATTS, "power the package draws, by whatever name the release gives it"),
        gauge("rocm_power_limit", Unit.WATTS, "power the package may draw", stats=_PEAK),
        gauge("rocm_temp", Unit.CELSIUS, "temperature at the edge"),
        gauge("rocm_junction_temp", Unit.CELSIUS, "temperature of the hottest spot"),
        gauge("rocm_mem_temp", Unit.CELSIUS, "temperature of the memory"),
        gauge("rocm_fan", Unit.PERCENT, "speed of the fan", stats=_PEAK),
        gauge("rocm_sm_clock", Unit.HERTZ, "clock of the compute units", stats=_MEAN_PEAK),
        gauge("rocm_mem_clock", Unit.HERTZ, "clock of the memory", stats=_MEAN_PEAK),
        gauge("rocm_voltage", Unit.NONE, "voltage of the core in volts", stats=_PEAK),
        gauge("rocm_energy_counter", Unit.JOULES, "energy since the driver loaded", stats=(Stat.LAST,)),
        gauge(
            "rocm_pcie_replays",
            Unit.COUNT,
            "packets sent again over PCIe since the driver loaded",
            stats=_PEAK,
        ),
        label("rocm_name", "model of the card"),
        label("rocm_index", "number of the card on its machine"),
    )
)


def sniff(head: bytes, _name: str) -> float:
    """Claim JSON whose first sections are cards with an AMD field."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith(b"{") or b'"card' not in start[:400]:
        return 0.0
    marks = (
        b"GPU use (%)",
        b"VBIOS version",
        b"(Sensor edge)",
        b"Graphics Package Power",
        b"Card series",
        b"VRAM",
    )
    return 0.95 if any(mark.lower() in start.lower() for mark in marks) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read every card as one window."""
    content = path.read_bytes()
    try:
        cards = rocmtext.parse(content.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        cards = None  # nested without end
    if not cards:
        raise UsageError(
            f"{path.name} is cut off or holds no card", hint="ask rocm-smi again and keep all of it"
        )
    values: monitorlog.Values = {
        (f"rocm_{name}", card): value for card, told in cards.items() for name, value in told.items()
    }
    system = loose_json.mapping((loose_json.parse_object(content) or {}).get("system"))
    driver = loose_json.text(system.get("Driver version"))
    facts = monitorlog.Facts(
        missing={"started_at": "rocm-smi prints no time"},
        context={"gpu": {"driver": driver}} if driver else {},
    )
    window = Window(timestamp=0.0, num_samples=1, clock={}, values=values)
    return [monitorlog.imported(path, format=ORIGIN, definitions=DEFINITIONS, windows=[window], facts=facts)]
