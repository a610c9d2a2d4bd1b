"""NVIDIA GPUs through NVML, read by a helper process of its own: per device, and per process where the driver tells.

`nvml_util` is the share of time in which any kernel ran: one small kernel after another makes 100 %. Figures of a
device are those of everyone on it. On A100 and H100 the power sensor looks at a quarter of the time: the energy
counter is better. A MIG instance knows its memory only. A device is recorded from the moment it is the job's.
"""

import os
import sys

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import nvidiafiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.collectors import Job, Source
    from jobmeter.probes.paths import Paths

_PEAK, _MEAN = Stat.PEAK, Stat.MEAN


def _gauge(
    key: str, unit: Unit, stats: tuple[Stat, ...], about: str, scope: Scope = Scope.DEVICE
) -> Measurement:
    reduce = Reduce.MEAN if stats[:1] == (_MEAN,) else Reduce.MAX
    return Measurement(key, Kind.GAUGE, unit, scope, (reduce,), stats, about)


def _counter(key: str, unit: Unit, about: str) -> Measurement:
    return Measurement(key, Kind.COUNTER, unit, Scope.DEVICE, (Reduce.DELTA,), (Stat.TOTAL,), about)


def _text(key: str, kind: Kind, about: str) -> Measurement:
    reduce = Reduce.LAST if kind is Kind.LABEL else Reduce.TALLY
    return Measurement(key, kind, Unit.NONE, Scope.DEVICE, (reduce,), (), about)


MEASUREMENTS = (
    _gauge("nvml_util", Unit.PERCENT, (_MEAN, _PEAK), "share of time in which a kernel ran on the GPU"),
    _gauge("nvml_mem_util", Unit.PERCENT, (_MEAN, _PEAK), "share of time in which GPU memory was read or written"),
    _gauge("nvml_mem_used", Unit.BYTES, (_PEAK, _MEAN), "GPU memory in use by everyone, the driver's own left out"),
    _gauge("nvml_mem_total", Unit.BYTES, (_PEAK,), "memory of the GPU"),
    _gauge("nvml_power", Unit.WATTS, (_MEAN, _PEAK), "power the board draws"),
    _gauge("nvml_power_limit", Unit.WATTS, (_PEAK,), "power the board may draw"),
    _counter("nvml_energy", Unit.JOULES, "energy the GPU used, by its own counter"),
    _counter("nvml_energy_estimate", Unit.JOULES, "energy by integrating power, where the GPU has no counter"),
    _gauge("nvml_temp", Unit.CELSIUS, (_PEAK, _MEAN), "temperature of the GPU"),
    _gauge("nvml_mem_temp", Unit.CELSIUS, (_PEAK,), "temperature of the GPU's memory"),
    _gauge("nvml_sm_clock", Unit.HERTZ, (_MEAN, _PEAK), "clock of the multiprocessors"),
    _gauge("nvml_mem_clock", Unit.HERTZ, (_MEAN,), "clock of the GPU's memory"),
    _text("nvml_throttle", Kind.CATEGORICAL, "why the clocks are lower than they could be"),
    _text("nvml_pstate", Kind.CATEGORICAL, "performance state, P0 is the fastest"),
    _gauge("nvml_fan", Unit.PERCENT, (_PEAK,), "speed the fan is meant to have"),
    _gauge("nvml_pcie_rx", Unit.BYTES, (_MEAN, _PEAK), "bytes a second received over PCIe"),
    _gauge("nvml_pcie_tx", Unit.BYTES, (_MEAN, _PEAK), "bytes a second sent over PCIe"),
    _counter("nvml_ecc_corrected", Unit.COUNT, "memory errors that were corrected"),
    _counter("nvml_ecc_uncorrected", Unit.COUNT, "memory errors that were not"),
    _counter("nvml_xid", Unit.COUNT, "critical errors the driver reported"),
    _text("nvml_name", Kind.LABEL, "model of the GPU"),
    _text("nvml_index", Kind.LABEL, "number of the GPU on this machine"),
    _gauge("nvml_proc_mem", Unit.BYTES, (_PEAK,), "GPU memory of a process, its context included", Scope.PROCESS),
    _gauge("nvml_proc_util", Unit.PERCENT, (_MEAN,), "share of a GPU's time a process used", Scope.PROCESS),
    _gauge("nvml_proc_mem_total", Unit.BYTES, (_PEAK, _MEAN), "GPU memory of the job's processes", Scope.JOB),
    _gauge("nvml_mem_used_total", Unit.BYTES, (_PEAK, _MEAN), "memory in use on all GPUs of the job", Scope.JOB),
    _gauge("nvml_power_total", Unit.WATTS, (_MEAN, _PEAK), "power all GPUs of the job draw", Scope.JOB),
    _gauge("nvml_count", Unit.COUNT, (_PEAK,), "GPUs the job uses or was given", Scope.JOB),
)  # fmt: skip

LIBRARY = "libnvidia-ml.so.1"
VARIABLES = ("CUDA_VISIBLE_DEVICES",)
DEVICE_FILES = "/dev/nvidia"


def missing(paths: "Paths") -> str | None:
    """Say why NVML cannot be read here."""
    if not nvidiafiles.present(paths):
        return "no NVIDIA GPU"
    if not _library_loads():
        return f"{LIBRARY} cannot be loaded: the driver's library is not where the linker looks"
    return None if _package_found() else "the package nvidia-ml-py is not installed"


def _library_loads() -> bool:
    try:
        import _ctypes

        # not initialised: that is the helper's to risk
        _ctypes.dlclose(_ctypes.dlopen(LIBRARY, 0))
    except (ImportError, OSError):
        return False
    return True


def _package_found() -> bool:
    """Look for pynvml without importing it, also where the recorder was started without site-packages."""
    if _holds_package(sys.path):
        return True
    import site

    return _holds_package([*site.getsitepackages(), site.getusersitepackages()])


def _holds_package(folders: list[str]) -> bool:
    return any(
        os.path.exists(os.path.join(folder or ".", name))
        for folder in folders
        for name in ("pynvml.py", "pynvml")
    )


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Start the helper; what it says is there from the next sample on."""
    from jobmeter.collectors.gpu_devices import JobDevices
    from jobmeter.collectors.gpu_source import GpuSource
    from jobmeter.probes.gpu_process import HelperProcess

    helper = HelperProcess(["nvml"], job.paths.proc)
    return GpuSource(job, MEASUREMENTS, keys, helper, JobDevices(job, VARIABLES, DEVICE_FILES))
