"""NVIDIA GPUs through NVML, read by a helper process of its own: per device, and per process where the driver tells.

`nvml_util` is the share of time in which any kernel ran: one small kernel after another makes 100 %. Figures of a
device are those of everyone on it. On A100 and H100 the power sensor looks at a quarter of the time: the energy
counter is better. A MIG instance knows its memory only. A device is recorded from the moment it is the job's.
"""

import os
import sys

from jobmeter.collectors.gpu_keys import MEAN, PEAK, counter, gauge, label
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Unit
from jobmeter.probes import nvidiafiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.collectors import Job, Source
    from jobmeter.probes.paths import Paths


def _tally(key: str, about: str) -> Measurement:
    return Measurement(key, Kind.CATEGORICAL, Unit.NONE, Scope.DEVICE, (Reduce.TALLY,), (), about)


MEASUREMENTS = (
    gauge("nvml_util", Unit.PERCENT, (MEAN, PEAK), "share of time in which a kernel ran on the GPU"),
    gauge("nvml_mem_util", Unit.PERCENT, (MEAN, PEAK), "share of time in which GPU memory was read or written"),
    gauge("nvml_mem_used", Unit.BYTES, (PEAK, MEAN), "GPU memory in use by everyone, the driver's own left out"),
    gauge("nvml_mem_total", Unit.BYTES, (PEAK,), "memory of the GPU"),
    gauge("nvml_power", Unit.WATTS, (MEAN, PEAK), "power the board draws"),
    gauge("nvml_power_limit", Unit.WATTS, (PEAK,), "power the board may draw"),
    counter("nvml_energy", Unit.JOULES, "energy the GPU used, by its own counter"),
    counter("nvml_energy_estimate", Unit.JOULES, "energy by integrating power, where the GPU has no counter"),
    gauge("nvml_temp", Unit.CELSIUS, (PEAK, MEAN), "temperature of the GPU"),
    gauge("nvml_mem_temp", Unit.CELSIUS, (PEAK,), "temperature of the GPU's memory"),
    gauge("nvml_sm_clock", Unit.HERTZ, (MEAN, PEAK), "clock of the multiprocessors"),
    gauge("nvml_mem_clock", Unit.HERTZ, (MEAN,), "clock of the GPU's memory"),
    _tally("nvml_throttle", "why the clocks are lower than they could be"),
    _tally("nvml_pstate", "performance state, P0 is the fastest"),
    gauge("nvml_fan", Unit.PERCENT, (PEAK,), "speed the fan is meant to have"),
    gauge("nvml_pcie_rx", Unit.BYTES_PER_SECOND, (MEAN, PEAK), "bytes a second received over PCIe"),
    gauge("nvml_pcie_tx", Unit.BYTES_PER_SECOND, (MEAN, PEAK), "bytes a second sent over PCIe"),
    counter("nvml_ecc_corrected", Unit.COUNT, "memory errors that were corrected"),
    counter("nvml_ecc_uncorrected", Unit.COUNT, "memory errors that were not"),
    counter("nvml_xid", Unit.COUNT, "critical errors the driver reported"),
    label("nvml_name", "model of the GPU"),
    label("nvml_index", "number of the GPU on this machine"),
    gauge("nvml_proc_mem", Unit.BYTES, (PEAK,), "GPU memory of a process, its context included", Scope.PROCESS),
    gauge("nvml_proc_util", Unit.PERCENT, (MEAN,), "share of a GPU's time a process used", Scope.PROCESS),
    gauge("nvml_proc_mem_total", Unit.BYTES, (PEAK, MEAN), "GPU memory of the job's processes", Scope.JOB),
    gauge("nvml_mem_used_total", Unit.BYTES, (PEAK, MEAN), "memory in use on all GPUs of the job", Scope.JOB),
    gauge("nvml_power_total", Unit.WATTS, (MEAN, PEAK), "power all GPUs of the job draw", Scope.JOB),
    gauge("nvml_count", Unit.COUNT, (PEAK,), "GPUs the job uses or was given", Scope.JOB),
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
