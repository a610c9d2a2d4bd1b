"""NVIDIA GPUs by asking `nvidia-smi`, where NVML itself cannot be loaded.

It says what NVML says, rounded (memory to 1 MiB, utilisation to 1 %), a second late, at a hundred times the cost, and
counts no energy: `nvsmi_energy_estimate` integrates power. A cell in brackets (`[N/A]`) is no value, never 0. An
answer that does not come within 2 s is not waited for.
"""

from jobmeter.collectors.gpu_keys import MEAN, PEAK, counter, gauge, label
from jobmeter.model.measurement import Scope, Unit
from jobmeter.probes import command, nvidiafiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.collectors import Job, Source
    from jobmeter.probes.paths import Paths

MEASUREMENTS = (
    gauge("nvsmi_util", Unit.PERCENT, (MEAN, PEAK), "share of time in which a kernel ran on the GPU"),
    gauge("nvsmi_mem_util", Unit.PERCENT, (MEAN, PEAK), "share of time in which GPU memory was read or written"),
    gauge("nvsmi_mem_used", Unit.BYTES, (PEAK, MEAN), "GPU memory in use by everyone"),
    gauge("nvsmi_mem_total", Unit.BYTES, (PEAK,), "memory of the GPU"),
    gauge("nvsmi_power", Unit.WATTS, (MEAN, PEAK), "power the board draws"),
    gauge("nvsmi_power_limit", Unit.WATTS, (PEAK,), "power the board may draw"),
    counter("nvsmi_energy_estimate", Unit.JOULES, "energy by integrating power"),
    gauge("nvsmi_temp", Unit.CELSIUS, (PEAK, MEAN), "temperature of the GPU"),
    gauge("nvsmi_mem_temp", Unit.CELSIUS, (PEAK,), "temperature of the GPU's memory"),
    gauge("nvsmi_sm_clock", Unit.HERTZ, (MEAN, PEAK), "clock of the multiprocessors"),
    gauge("nvsmi_mem_clock", Unit.HERTZ, (MEAN,), "clock of the GPU's memory"),
    gauge("nvsmi_fan", Unit.PERCENT, (PEAK,), "speed the fan is meant to have"),
    label("nvsmi_name", "model of the GPU"),
    label("nvsmi_index", "number of the GPU on this machine"),
    gauge("nvsmi_proc_mem", Unit.BYTES, (PEAK,), "GPU memory of a process", Scope.PROCESS),
    gauge("nvsmi_proc_mem_total", Unit.BYTES, (PEAK, MEAN), "GPU memory of the job's processes", Scope.JOB),
    gauge("nvsmi_mem_used_total", Unit.BYTES, (PEAK, MEAN), "memory in use on all GPUs of the job", Scope.JOB),
    gauge("nvsmi_power_total", Unit.WATTS, (MEAN, PEAK), "power all GPUs of the job draw", Scope.JOB),
    gauge("nvsmi_count", Unit.COUNT, (PEAK,), "GPUs the job uses or was given", Scope.JOB),
)  # fmt: skip


def missing(paths: "Paths") -> str | None:
    """Say why nvidia-smi cannot be asked here."""
    if not nvidiafiles.present(paths):
        return "no NVIDIA GPU"
    return None if command.find("nvidia-smi") else "no nvidia-smi on PATH"


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Bind nvidia-smi to a job."""
    from jobmeter.collectors.gpu_devices import JobDevices
    from jobmeter.collectors.gpu_source import GpuSource
    from jobmeter.probes.nvsmi import Listener

    listener = Listener(command.find("nvidia-smi") or "nvidia-smi")
    devices = JobDevices(job, ("CUDA_VISIBLE_DEVICES",), "/dev/nvidia")
    return GpuSource(job, MEASUREMENTS, keys, listener, devices)
