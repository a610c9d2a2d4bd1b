"""What `tegrastats` prints on NVIDIA Jetson boards, one line a sample, of every JetPack.

What misleads: newer releases begin with month-day-year, older have no clock at all; MB are 1,048,576 bytes; power
is in milliwatts with or without saying so, followed by its mean so far; a core that is `off` is absent, not idle.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from jobmeter.formats import monitorlog, quantity
from jobmeter.formats.monitorlog import gauge
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Scope, Stat, Unit
from jobmeter.model.view import Window

ORIGIN = "tegrastats"
_MIB, _MHZ = 1 << 20, 1_000_000
_MEAN_PEAK = (Stat.MEAN, Stat.PEAK)
DEFINITIONS = monitorlog.table(
    (
        gauge("tegra_ram_used", Unit.BYTES, "memory in use, by CPU and GPU alike", Scope.HOST),
        gauge("tegra_ram_total", Unit.BYTES, "memory of the board", Scope.HOST, (Stat.PEAK,)),
        gauge("tegra_swap_used", Unit.BYTES, "swap in use", Scope.HOST),
        gauge("tegra_util", Unit.PERCENT, "use of the GPU (GR3D)", stats=_MEAN_PEAK),
        gauge("tegra_gpu_clock", Unit.HERTZ, "clock of the GPU", stats=_MEAN_PEAK),
        gauge("tegra_emc_util", Unit.PERCENT, "use of the memory's bandwidth", Scope.HOST, _MEAN_PEAK),
        gauge("tegra_emc_clock", Unit.HERTZ, "clock of the memory", Scope.HOST, _MEAN_PEAK),
        gauge("tegra_cpu_util", Unit.PERCENT, "use of one core", stats=_MEAN_PEAK),
        gauge("tegra_cpu_clock", Unit.HERTZ, "clock of one core", stats=_MEAN_PEAK),
        gauge("tegra_temp", Unit.CELSIUS, "temperature of one zone", stats=(Stat.PEAK,)),
        gauge("tegra_power", Unit.WATTS, "power on one rail", stats=(Stat.PEAK,)),
    )
)
_STAMP = re.compile(r"(\d\d)-(\d\d)-(\d{4}) (\d\d:\d\d:\d\d)\s+")
_RAM = re.compile(r"\bRAM (\d+)/(\d+)([kMG])B")
_SWAP = re.compile(r"\bSWAP (\d+)/(\d+)([kMG])B")
_CPU = re.compile(r"\b(?:CPU|cpu) \[([^\]]*)\]")
_CORE = re.compile(r"(\d+)%(?:@(\d+))?")
_GPU = re.compile(r"\bGR3D(?:_FREQ)? (\d+)%(?:@\[?(\d+))?")
_EMC = re.compile(r"\bEMC(?:_FREQ)? (\d+)%(?:@(\d+))?")
_TEMP = re.compile(r"\b([A-Za-z][A-Za-z0-9_-]*)@(-?\d+(?:\.\d+)?)C\b")
_POWER = re.compile(
    r"\b((?:VDD|VIN|POM|CV|GPU|CPU|SOC|SYS|NC|DDR)[A-Z0-9_]*) (\d+)(mW)?/(\d+)(?:mW)?(?=\s|$)"
)
_SCALES = {"k": 1 << 10, "M": _MIB, "G": 1 << 30}


def sniff(head: bytes, _name: str) -> float:
    """Claim lines with memory, cores and GPU of a board."""
    text = monitorlog.head_text(head)
    is_board = any(mark in text for mark in ("GR3D", "EMC")) or (_TEMP.search(text) and _POWER.search(text))
    return 0.95 if _RAM.search(text) and _CPU.search(text) and is_board else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per line."""
    clocked = any(_STAMP.match(line) for line in islice(monitorlog.text_lines(path), 20))
    facts = monitorlog.Facts(
        missing={} if clocked else {"started_at": monitorlog.NO_CLOCK},
        inexact={"started_at": monitorlog.NO_ZONE} if clocked else {},
    )
    return [monitorlog.imported(path, format=ORIGIN, definitions=DEFINITIONS, windows=_windows, facts=facts)]


def _windows(path: Path) -> Iterator[Window | None]:
    number = 0
    for line in monitorlog.text_lines(path):
        if not line.strip():
            continue
        values = _values(line)
        if not values:
            yield None
            continue
        at = _seconds(line)
        yield Window(timestamp=float(number) if at is None else at, num_samples=1, clock={}, values=values)
        number += 1


def _seconds(line: str) -> float | None:
    found = _STAMP.match(line)
    at = quantity.moment(f"{found[3]}-{found[1]}-{found[2]} {found[4]}") if found else None
    return None if at is None else at.seconds


def _values(line: str) -> monitorlog.Values:
    ram, gpu, emc = _RAM.search(line), _GPU.search(line), _EMC.search(line)
    if ram is None:
        return {}
    values: monitorlog.Values = {
        ("tegra_ram_used", ""): int(ram[1]) * _SCALES[ram[3]],
        ("tegra_ram_total", ""): int(ram[2]) * _SCALES[ram[3]],
    }
    swap = _SWAP.search(line)
    if swap:
        values["tegra_swap_used", ""] = int(swap[1]) * _SCALES[swap[3]]
    values |= _use(gpu, ("tegra_util", "tegra_gpu_clock"), "0")
    values |= _use(emc, ("tegra_emc_util", "tegra_emc_clock"), "")
    return values | _cores(line) | _sensors(line)


def _use(found: re.Match[str] | None, keys: tuple[str, str], instance: str) -> monitorlog.Values:
    if found is None:
        return {}
    values: monitorlog.Values = {(keys[0], instance): int(found[1])}
    if found[2]:
        values[keys[1], instance] = int(found[2]) * _MHZ
    return values


def _cores(line: str) -> monitorlog.Values:
    values: monitorlog.Values = {}
    cores = _CPU.search(line)
    for number, cell in enumerate(cores[1].split(",") if cores else ()):
        core = _CORE.fullmatch(cell.strip())
        if core is None:
            continue  # off
        values["tegra_cpu_util", str(number)] = int(core[1])
        if core[2]:
            values["tegra_cpu_clock", str(number)] = int(core[2]) * _MHZ
    return values


def _sensors(line: str) -> monitorlog.Values:
    values: monitorlog.Values = {}
    for zone, degrees in _TEMP.findall(line):
        values["tegra_temp", zone] = quantity.number(degrees) or 0
    for rail, milliwatts, _, _ in _POWER.findall(line):
        values["tegra_power", rail] = quantity.tidy(int(milliwatts) / 1000)
    return values
