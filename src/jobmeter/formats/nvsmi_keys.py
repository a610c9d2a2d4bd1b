"""The keys of everything nvidia-smi prints, whichever way it prints it; the same quantities as `nvml_`'s.

Sums over GPUs are made per window and only where every GPU of the window says the value.
"""

from collections.abc import Mapping, Sequence

from jobmeter.formats import monitorlog, quantity
from jobmeter.formats.monitorlog import counter, gauge, label
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.model.run import Value
from jobmeter.model.view import Window

_MEAN_PEAK, _PEAK = (Stat.MEAN, Stat.PEAK), (Stat.PEAK,)

DEFINITIONS = monitorlog.table(
    (
        gauge("nvsmi_util", Unit.PERCENT, "share of time in which a kernel ran on the GPU", stats=_MEAN_PEAK),
        gauge("nvsmi_mem_util", Unit.PERCENT, "share of time in which GPU memory was used", stats=_MEAN_PEAK),
        gauge("nvsmi_enc_util", Unit.PERCENT, "use of the video encoder", stats=_MEAN_PEAK),
        gauge("nvsmi_dec_util", Unit.PERCENT, "use of the video decoder", stats=_MEAN_PEAK),
        gauge("nvsmi_jpg_util", Unit.PERCENT, "use of the JPEG engine", stats=_MEAN_PEAK),
        gauge("nvsmi_ofa_util", Unit.PERCENT, "use of the optical-flow engine", stats=_MEAN_PEAK),
        gauge("nvsmi_mem_used", Unit.BYTES, "GPU memory in use by everyone"),
        gauge("nvsmi_mem_free", Unit.BYTES, "GPU memory not in use", stats=(Stat.LOW,)),
        gauge("nvsmi_mem_reserved", Unit.BYTES, "GPU memory the driver keeps", stats=_PEAK),
        gauge("nvsmi_mem_total", Unit.BYTES, "memory of the GPU", stats=_PEAK),
        gauge("nvsmi_bar1_used", Unit.BYTES, "GPU memory mapped for the host", stats=_PEAK),
        gauge("nvsmi_power", Unit.WATTS, "power the board draws", stats=_MEAN_PEAK),
        gauge("nvsmi_power_average", Unit.WATTS, "power the board draws, mean of a second", stats=_MEAN_PEAK),
        gauge("nvsmi_power_instant", Unit.WATTS, "power the board draws right now", stats=_MEAN_PEAK),
        gauge("nvsmi_power_limit", Unit.WATTS, "power the board may draw", stats=_PEAK),
        counter("nvsmi_energy_estimate", Unit.JOULES, "energy by integrating power over time"),
        gauge("nvsmi_temp", Unit.CELSIUS, "temperature of the GPU"),
        gauge("nvsmi_mem_temp", Unit.CELSIUS, "temperature of the GPU's memory"),
        gauge("nvsmi_sm_clock", Unit.HERTZ, "clock of the multiprocessors", stats=_MEAN_PEAK),
        gauge("nvsmi_mem_clock", Unit.HERTZ, "clock of the GPU's memory", stats=_MEAN_PEAK),
        gauge("nvsmi_graphics_clock", Unit.HERTZ, "clock of the graphics engine", stats=_MEAN_PEAK),
        gauge("nvsmi_video_clock", Unit.HERTZ, "clock of the video engines", stats=_MEAN_PEAK),
        gauge("nvsmi_fan", Unit.PERCENT, "speed the fan is meant to have", stats=_PEAK),
        gauge("nvsmi_pcie_rx", Unit.BYTES_PER_SECOND, "bytes a second received over PCIe", stats=_MEAN_PEAK),
        gauge("nvsmi_pcie_tx", Unit.BYTES_PER_SECOND, "bytes a second sent over PCIe", stats=_MEAN_PEAK),
        gauge(
            "nvsmi_ecc_corrected", Unit.COUNT, "corrected memory errors since the driver loaded", stats=_PEAK
        ),
        label("nvsmi_name", "model of the GPU"),
        label("nvsmi_index", "number of the GPU on its machine"),
        label("nvsmi_pstate", "performance state, P0 is the fastest"),
        Measurement(
            "nvsmi_throttle",
            Kind.CATEGORICAL,
            Unit.NONE,
            Scope.DEVICE,
            (Reduce.TALLY,),
            (),
            "why the clocks are lower than they could be",
        ),
        gauge("nvsmi_proc_mem", Unit.BYTES, "GPU memory of a process", Scope.PROCESS, _PEAK),
        gauge(
            "nvsmi_proc_util", Unit.PERCENT, "share of a GPU's time a process used", Scope.PROCESS, _MEAN_PEAK
        ),
        gauge("nvsmi_proc_mem_util", Unit.PERCENT, "memory use by a process", Scope.PROCESS, _MEAN_PEAK),
        label("nvsmi_proc_name", "program of a process on a GPU", Scope.PROCESS),
        gauge("nvsmi_mem_used_total", Unit.BYTES, "memory in use on all GPUs seen", Scope.HOST),
        gauge("nvsmi_power_total", Unit.WATTS, "power all GPUs seen draw", Scope.HOST, _MEAN_PEAK),
        gauge("nvsmi_count", Unit.COUNT, "GPUs seen", Scope.HOST, _PEAK),
    )
)
_SUMMED = {"nvsmi_mem_used": "nvsmi_mem_used_total", "nvsmi_power": "nvsmi_power_total"}
_LABELS = frozenset(("name", "index"))
_POWERS = ("power", "power_average", "power_instant")
_LONGEST_GAP_SECONDS = 300
"""What a GPU drew in a longer gap is not known."""
INSTANCE_MARK = "/"
"""In the name of a MIG instance, after that of its GPU, whose sums it is part of."""


_UNITS = {
    "%": 1,
    "C": 1,
    "W": 1,
    "MiB": 1 << 20,
    "MB": 1 << 20,
    "GiB": 1 << 30,
    "MHz": 1_000_000,
    "KB/s": 1000,
    "MB/s": 1_000_000,
}
"""What the tool writes behind its numbers; its MB are 1,048,576 bytes."""


def value(text: str) -> Value | None:
    """Read a number with its unit in base units; None where it is none, or of a unit nobody knows."""
    digits, _, unit = text.partition(" ")
    number, factor = quantity.number(digits), _UNITS.get(unit.strip())
    if number is None or factor is None:
        return None
    return number if factor == 1 else round(number * factor)


class Windows:
    """Makes windows of what each GPU says, in order; a name is said once, a sum only while no GPU is missing."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], Value] = {}
        self._most = 0
        self._powers: dict[str, tuple[float, float]] = {}

    def make(
        self,
        timestamp: float,
        devices: Mapping[str, Mapping[str, Value]],
        others: monitorlog.Values | None = None,
    ) -> Window:
        """Make one window; `devices` maps each GPU to its values by quantity."""
        values: monitorlog.Values = {}
        for device, told in devices.items():
            for name, value in told.items():
                place = f"nvsmi_{name}", device
                if name in _LABELS and self._said.get(place) == value:
                    continue
                values[place] = self._said[place] = value
        boards = [device for device in devices if INSTANCE_MARK not in device]
        self._most = max(self._most, len(boards))
        if boards and len(boards) == self._most:
            values |= _totals(values, boards)
        since, energy = self._energy(timestamp, devices)
        clock = {"nvsmi": (since, timestamp)} if energy else {}
        return Window(
            timestamp=timestamp, num_samples=1, clock=clock, values=values | energy | (others or {})
        )

    def _energy(
        self, at: float, devices: Mapping[str, Mapping[str, Value]]
    ) -> tuple[float, monitorlog.Values]:
        """Integrate power since the window before, where stamps are times and not far apart."""
        found: monitorlog.Values = {}
        since = at
        for device, told in devices.items():
            watts = next((told[name] for name in _POWERS if name in told), None)
            if not isinstance(watts, int | float) or at < monitorlog.ODD_YEARS:
                continue
            earlier, before = self._powers.get(device, (at, watts))
            if 0 < at - earlier <= _LONGEST_GAP_SECONDS:
                found["nvsmi_energy_estimate", device] = round((watts + before) / 2 * (at - earlier), 6)
                since = min(since, earlier)
            self._powers[device] = at, watts
        return since, found


def _totals(values: monitorlog.Values, names: Sequence[str]) -> monitorlog.Values:
    found: monitorlog.Values = {("nvsmi_count", ""): len(names)}
    for key, total in _SUMMED.items():
        known = [value for device in names if isinstance(value := values.get((key, device)), int | float)]
        if len(known) == len(names):
            whole = all(isinstance(value, int) for value in known)
            found[total, ""] = sum(known) if whole else round(sum(known), 6)
    return found
