"""The fields of NVIDIA's data center monitor under their three spellings: long, exporter's and dmon's."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from jobmeter.formats import monitorlog, quantity
from jobmeter.model.measurement import Measurement, Unit

_MIB, _MHZ = 1 << 20, 1_000_000


@dataclass(frozen=True, slots=True)
class Field:
    """What a field is in our words."""

    key: str
    unit: Unit
    factor: float = 1
    about: str = ""
    counts: bool = False

    def scaled(self, printed: quantity.Number) -> quantity.Number:
        """Give a printed value in base units."""
        return printed if self.factor == 1 else quantity.tidy(printed * self.factor)


_KNOWN = {
    "util": Field("dcgm_util", Unit.PERCENT, about="share of time in which a kernel ran on the GPU"),
    "mem_util": Field("dcgm_mem_util", Unit.PERCENT, about="share of time in which GPU memory was used"),
    "enc_util": Field("dcgm_enc_util", Unit.PERCENT, about="use of the video encoder"),
    "dec_util": Field("dcgm_dec_util", Unit.PERCENT, about="use of the video decoder"),
    "mem_used": Field("dcgm_mem_used", Unit.BYTES, _MIB, "GPU memory in use by everyone"),
    "mem_free": Field("dcgm_mem_free", Unit.BYTES, _MIB, "GPU memory not in use"),
    "mem_total": Field("dcgm_mem_total", Unit.BYTES, _MIB, "memory of the GPU"),
    "mem_reserved": Field("dcgm_mem_reserved", Unit.BYTES, _MIB, "GPU memory the driver keeps"),
    "power": Field("dcgm_power", Unit.WATTS, about="power the board draws"),
    "power_instant": Field("dcgm_power_instant", Unit.WATTS, about="power the board draws right now"),
    "energy": Field("dcgm_energy", Unit.JOULES, 1e-3, "energy the GPU used, by its own counter", counts=True),
    "temp": Field("dcgm_temp", Unit.CELSIUS, about="temperature of the GPU"),
    "mem_temp": Field("dcgm_mem_temp", Unit.CELSIUS, about="temperature of the GPU's memory"),
    "sm_clock": Field("dcgm_sm_clock", Unit.HERTZ, _MHZ, "clock of the multiprocessors"),
    "mem_clock": Field("dcgm_mem_clock", Unit.HERTZ, _MHZ, "clock of the GPU's memory"),
    "gr_active": Field("dcgm_gr_active", Unit.RATIO, about="share of time the graphics engine was active"),
    "sm_active": Field("dcgm_sm_active", Unit.RATIO, about="share of time a multiprocessor had work"),
    "sm_occupancy": Field("dcgm_sm_occupancy", Unit.RATIO, about="share of resident warps"),
    "tensor_active": Field(
        "dcgm_tensor_active", Unit.RATIO, about="share of time the tensor cores were active"
    ),
    "dram_active": Field("dcgm_dram_active", Unit.RATIO, about="share of time memory moved data"),
}
_SPELLINGS = {
    "gpu_utilization": "util", "gpu_util": "util", "gputl": "util",
    "mem_copy_utilization": "mem_util", "mem_copy_util": "mem_util", "mcutl": "mem_util",
    "enc_utilization": "enc_util", "enc_util": "enc_util", "encut": "enc_util",
    "dec_utilization": "dec_util", "dec_util": "dec_util", "decut": "dec_util",
    "fb_used": "mem_used", "fbusd": "mem_used", "fb_free": "mem_free", "fbfre": "mem_free",
    "fb_total": "mem_total", "fbttl": "mem_total", "fb_reserved": "mem_reserved", "fbrsd": "mem_reserved",
    "power_usage": "power", "power": "power", "power_usage_instant": "power_instant",
    "total_energy_consumption": "energy", "totec": "energy",
    "gpu_temp": "temp", "tmptr": "temp", "memory_temp": "mem_temp", "mmtmp": "mem_temp",
    "sm_clock": "sm_clock", "smclk": "sm_clock", "memory_clock": "mem_clock",
    "mem_clock": "mem_clock", "mmclk": "mem_clock",
    "gr_engine_active": "gr_active", "gract": "gr_active", "sm_active": "sm_active", "smact": "sm_active",
    "sm_occupancy": "sm_occupancy", "smocc": "sm_occupancy", "pipe_tensor_active": "tensor_active",
    "tensor_active": "tensor_active", "tenso": "tensor_active", "dram_active": "dram_active", "drama": "dram_active",
}  # fmt: skip
_PREFIX = re.compile(r"^dcgm_fi_(?:dev_|prof_)?")


def find(field: str) -> Field:
    """Name a field in our words; one that is not known keeps its own name and no unit."""
    name = _PREFIX.sub("", field.strip().lower())
    known = _KNOWN.get(_SPELLINGS.get(name, ""))
    if known is not None:
        return known
    words = re.sub(r"[^a-z0-9]+", "_", name).strip("_") or "unnamed"
    return Field(f"dcgm_{words}", Unit.NONE, about=f"{field}, as printed")


def definitions(fields: Iterable[str]) -> dict[str, Measurement]:
    """Define the keys of the fields a file holds."""
    found = (find(field) for field in fields)
    return monitorlog.table(
        monitorlog.counter(known.key, known.unit, known.about)
        if known.counts
        else monitorlog.gauge(known.key, known.unit, known.about)
        for known in found
    )
