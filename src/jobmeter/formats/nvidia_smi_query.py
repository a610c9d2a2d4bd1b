"""What `nvidia-smi -q` prints for people: sections by indentation, once or again and again (`-l`).

What misleads: the same word stands in several sections (`Used`, `Memory`, `Gpu`), so a value is its section and its
name; a value may be `N/A` or a sentence; newer releases have other names for power. As XML the same is read by
`nvidia_smi_xml`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.formats import monitorlog, nvsmi_keys, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.run import Value
from jobmeter.model.view import Window

ORIGIN = "nvidia_smi_query"
_TITLE = "NVSMI LOG"
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:\S+)\s*")
_FIELD = re.compile(r"(?P<indent> *)(?P<name>\S[^:]*?)\s*:\s(?P<value>.*?)\s*")
_SECTION = re.compile(r"(?P<indent> *)(?P<name>\S.*?)\s*")
_PLACES: dict[str, tuple[str, ...]] = {
    "util": ("Utilization/Gpu", "Utilization/GPU"),
    "mem_util": ("Utilization/Memory",),
    "enc_util": ("Utilization/Encoder",),
    "dec_util": ("Utilization/Decoder",),
    "jpg_util": ("Utilization/JPEG",),
    "ofa_util": ("Utilization/OFA",),
    "mem_used": ("FB Memory Usage/Used", "Memory Usage/Used"),
    "mem_free": ("FB Memory Usage/Free", "Memory Usage/Free"),
    "mem_reserved": ("FB Memory Usage/Reserved",),
    "mem_total": ("FB Memory Usage/Total", "Memory Usage/Total"),
    "bar1_used": ("BAR1 Memory Usage/Used",),
    "power": ("GPU Power Readings/Power Draw", "Power Readings/Power Draw"),
    "power_average": ("GPU Power Readings/Average Power Draw",),
    "power_instant": ("GPU Power Readings/Instantaneous Power Draw",),
    "power_limit": (
        "GPU Power Readings/Current Power Limit",
        "Power Readings/Enforced Power Limit",
        "Power Readings/Power Limit",
    ),
    "temp": ("Temperature/GPU Current Temp", "Temperature/Gpu"),
    "mem_temp": ("Temperature/Memory Current Temp",),
    "sm_clock": ("Clocks/SM",),
    "mem_clock": ("Clocks/Memory",),
    "graphics_clock": ("Clocks/Graphics",),
    "video_clock": ("Clocks/Video",),
    "fan": ("Fan Speed",),
    "pcie_rx": ("PCI/Rx Throughput",),
    "pcie_tx": ("PCI/Tx Throughput",),
}


def sniff(head: bytes, _name: str) -> float:
    """Claim text that begins with the tool's title, with a GPU below it."""
    text = monitorlog.head_text(head)
    begins = _TITLE in text[:200] and "=====" in text[:200]
    return 1.0 if begins and ("Attached GPUs" in text or _GPU.search(text)) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one window per report."""
    first = next(_reports(path), _Report())
    at = quantity.moment(first.fields.get("Timestamp", ""))
    told = {
        ours: first.fields[name]
        for ours, name in (("driver", "Driver Version"), ("cuda", "CUDA Version"))
        if name in first.fields
    }
    facts = monitorlog.Facts(
        missing={} if at else {"started_at": monitorlog.NO_CLOCK},
        inexact={"started_at": monitorlog.NO_ZONE} if at and not at.zoned else {},
        context={"gpu": told} if told else {},
    )
    return [
        monitorlog.imported(
            path, format=ORIGIN, definitions=nvsmi_keys.DEFINITIONS, windows=_windows, facts=facts
        )
    ]


@dataclass(slots=True)
class _Gpu:
    fields: dict[str, str] = field(default_factory=dict)
    """By section and name, the deepest section alone: sections further out say nothing more."""
    processes: list[dict[str, str]] = field(default_factory=list)

    def take(self, place: str, name: str, value: str) -> None:
        """Note one value; those of processes come again and again."""
        if name == "Process ID":
            self.processes.append({})
        if self.processes:
            self.processes[-1].setdefault(name, value)
            return
        self.fields.setdefault(f"{place}/{name}" if place else name, value)


@dataclass(slots=True)
class _Report:
    fields: dict[str, str] = field(default_factory=dict)
    gpus: dict[str, _Gpu] = field(default_factory=dict)


def _reports(path: Path) -> Iterator[_Report]:
    report, gpu = _Report(), _Gpu()
    sections: list[tuple[int, str]] = []
    for line in monitorlog.text_lines(path):
        if _TITLE in line:
            if report.gpus:
                yield report
            report, sections = _Report(), []
            continue
        begins = _GPU.fullmatch(line)
        if begins is not None:
            gpu = report.gpus.setdefault(begins[1], _Gpu())
            sections = []
            continue
        found = _FIELD.fullmatch(line) or _SECTION.fullmatch(line)
        if found is None:
            continue
        indent = len(found["indent"])
        sections = [section for section in sections if section[0] < indent]
        if found.re is _SECTION:
            sections.append((indent, found["name"]))
        elif report.gpus:
            gpu.take(sections[-1][1] if sections else "", found["name"], found["value"])
        else:
            report.fields.setdefault(found["name"], found["value"])
    if report.gpus:
        yield report


def _windows(path: Path) -> Iterator[Window | None]:
    made = nvsmi_keys.Windows()
    for number, report in enumerate(_reports(path)):
        at = quantity.moment(report.fields.get("Timestamp", ""))
        devices: dict[str, dict[str, Value]] = {}
        others: monitorlog.Values = {}
        for place, (bus, gpu) in enumerate(report.gpus.items()):
            devices[gpu.fields.get("GPU UUID", bus)] = _values(gpu) | _labels(gpu, place)
            others |= _processes(gpu)
        yield made.make(float(number) if at is None else at.seconds, devices, others)


def _values(gpu: _Gpu) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, places in _PLACES.items():
        value = next(
            (v for place in places if (v := nvsmi_keys.value(gpu.fields.get(place, ""))) is not None), None
        )
        if value is not None:
            found[name] = value
    return found


def _labels(gpu: _Gpu, place: int) -> dict[str, Value]:
    minor = gpu.fields.get("Minor Number", "")
    found: dict[str, Value] = {"index": minor if minor.isdecimal() else str(place)}
    for name, field_name in (("name", "Product Name"), ("pstate", "Performance State")):
        if not quantity.is_absent(gpu.fields.get(field_name, "")):
            found[name] = gpu.fields[field_name]
    return found


def _processes(gpu: _Gpu) -> monitorlog.Values:
    found: monitorlog.Values = {}
    for process in gpu.processes:
        pid, size = process.get("Process ID", ""), nvsmi_keys.value(process.get("Used GPU Memory", ""))
        if not pid.isdecimal():
            continue
        if size is not None:
            found["nvsmi_proc_mem", pid] = size
        if not quantity.is_absent(process.get("Name", "")):
            found["nvsmi_proc_name", pid] = process["Name"]
    return found
