"""What `nvidia-smi -q -x` prints, of any schema version; several documents in one file are several windows.

What misleads: a value may be `N/A`, or a sentence; there are up to three power figures of which some are `N/A`;
under MIG the GPU itself has no utilisation, and each instance knows its memory only; process ids are the host's.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from jobmeter.errors import UsageError
from jobmeter.formats import monitorlog, nvsmi_keys, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.run import Value
from jobmeter.model.view import Window

ORIGIN = "nvidia_smi_xml"
_PATHS: dict[str, tuple[str, ...]] = {
    "util": ("utilization/gpu_util",),
    "mem_util": ("utilization/memory_util",),
    "enc_util": ("utilization/encoder_util",),
    "dec_util": ("utilization/decoder_util",),
    "jpg_util": ("utilization/jpeg_util",),
    "ofa_util": ("utilization/ofa_util",),
    "mem_used": ("fb_memory_usage/used", "memory_usage/used"),
    "mem_free": ("fb_memory_usage/free", "memory_usage/free"),
    "mem_reserved": ("fb_memory_usage/reserved",),
    "mem_total": ("fb_memory_usage/total", "memory_usage/total"),
    "bar1_used": ("bar1_memory_usage/used",),
    "power": ("gpu_power_readings/power_draw", "power_readings/power_draw"),
    "power_average": ("gpu_power_readings/average_power_draw",),
    "power_instant": ("gpu_power_readings/instant_power_draw",),
    "power_limit": (
        "gpu_power_readings/current_power_limit",
        "gpu_power_readings/power_limit",
        "power_readings/enforced_power_limit",
        "power_readings/power_limit",
    ),
    "temp": ("temperature/gpu_temp",),
    "mem_temp": ("temperature/memory_temp",),
    "sm_clock": ("clocks/sm_clock",),
    "mem_clock": ("clocks/mem_clock",),
    "graphics_clock": ("clocks/graphics_clock",),
    "video_clock": ("clocks/video_clock",),
    "fan": ("fan_speed",),
    "pcie_rx": ("pci/rx_util",),
    "pcie_tx": ("pci/tx_util",),
}
_DOCUMENT = re.compile(r"<nvidia_smi_log\b.*?</nvidia_smi_log>", re.DOTALL)
_MOST_BYTES = 256 << 20


def sniff(head: bytes, _name: str) -> float:
    """Claim the root element."""
    return 1.0 if b"<nvidia_smi_log" in head else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per document."""
    if path.stat().st_size > _MOST_BYTES:
        raise UsageError(f"{path.name} is over {_MOST_BYTES >> 20} MiB", hint="split it into parts")
    windows, first = _windows(path)
    at = None if first is None else quantity.moment(_text(first, "timestamp"))
    if first is None:
        raise UsageError(
            f"{path.name} holds no whole document", hint="ask nvidia-smi again and keep all of it"
        )
    names = {"driver": "driver_version", "cuda": "cuda_version"}
    told = {ours: _text(first, theirs) for ours, theirs in names.items() if _text(first, theirs)}
    facts = monitorlog.Facts(
        missing={} if at else {"started_at": monitorlog.NO_CLOCK},
        inexact={"started_at": monitorlog.NO_ZONE} if at and not at.zoned else {},
        context={"gpu": told} if told else {},
    )
    return [
        monitorlog.imported(
            path, format=ORIGIN, definitions=nvsmi_keys.DEFINITIONS, windows=windows, facts=facts
        )
    ]


def _windows(path: Path) -> tuple[list[Window | None], ET.Element | None]:
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    made, windows = nvsmi_keys.Windows(), list[Window | None]()
    first: ET.Element | None = None
    for number, found in enumerate(_DOCUMENT.finditer(text)):
        root = _root(found.group())
        if root is None:
            windows.append(None)
            continue
        first = root if first is None else first
        windows.append(_window(root, float(number), made))
    return windows, first


def _root(text: str) -> ET.Element | None:
    """Parse one document; its doctype, and with it every entity, was left behind."""
    try:
        return ET.fromstring(text)  # noqa: S314  # no doctype, so nothing to expand or to fetch
    except ET.ParseError:
        return None


def _window(root: ET.Element, number: float, made: nvsmi_keys.Windows) -> Window:
    at = quantity.moment(_text(root, "timestamp"))
    devices: dict[str, dict[str, Value]] = {}
    others: monitorlog.Values = {}
    for place, gpu in enumerate(root.iter("gpu")):
        uuid = _text(gpu, "uuid") or gpu.get("id") or str(place)
        devices[uuid] = _values(gpu) | _labels(gpu, place)
        devices |= {f"{uuid}{nvsmi_keys.INSTANCE_MARK}{name}": told for name, told in _instances(gpu)}
        others |= _processes(gpu)
        reasons = _throttle_reasons(gpu)
        if reasons:
            others["nvsmi_throttle", uuid] = reasons
    return made.make(number if at is None else at.seconds, devices, others)


def _values(element: ET.Element) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, paths in _PATHS.items():
        value = next((v for path in paths if (v := nvsmi_keys.value(_text(element, path))) is not None), None)
        if value is not None:
            found[name] = value
    return found


def _labels(gpu: ET.Element, place: int) -> dict[str, Value]:
    minor = _text(gpu, "minor_number")
    found: dict[str, Value] = {"index": minor if minor.isdecimal() else str(place)}
    for name, path in (("name", "product_name"), ("pstate", "performance_state")):
        if _text(gpu, path):
            found[name] = _text(gpu, path)
    return found


def _instances(gpu: ET.Element) -> Iterator[tuple[str, dict[str, Value]]]:
    for instance in gpu.iterfind("mig_devices/mig_device"):
        ids = [_text(instance, name) for name in ("gpu_instance_id", "compute_instance_id")]
        yield "mig-" + "-".join(ids), _values(instance)


def _throttle_reasons(gpu: ET.Element) -> dict[str, int]:
    found: dict[str, int] = {}
    for parent in ("clocks_throttle_reasons", "clocks_event_reasons"):
        for reason in gpu.iterfind(f"{parent}/*"):
            if (reason.text or "").strip() == "Active":
                found[re.sub(r"^clocks_(?:throttle|event)_reason_", "", reason.tag)] = 1
    return found


def _processes(gpu: ET.Element) -> monitorlog.Values:
    found: monitorlog.Values = {}
    for process in gpu.iterfind("processes/process_info"):
        pid, size = _text(process, "pid"), nvsmi_keys.value(_text(process, "used_memory"))
        if not pid.isdecimal():
            continue
        if size is not None:
            found["nvsmi_proc_mem", pid] = size
        if _text(process, "process_name"):
            found["nvsmi_proc_name", pid] = _text(process, "process_name")
    return found


def _text(element: ET.Element, path: str) -> str:
    text = (element.findtext(path) or "").strip()
    return "" if quantity.is_absent(text) else text
