"""NVIDIA GPUs by asking `nvidia-smi`, where NVML itself cannot be loaded.

It says what NVML says, rounded (memory to 1 MiB, utilisation to 1 %), a second late, at a hundred times the cost, and
counts no energy: `nvsmi_energy_estimate` integrates power. A cell in brackets (`[N/A]`) is no value, never 0. An
answer that does not come within 2 s is not waited for.
"""

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import command, nvidiafiles

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


def _label(key: str, about: str) -> Measurement:
    return Measurement(key, Kind.LABEL, Unit.NONE, Scope.DEVICE, (Reduce.LAST,), (), about)


MEASUREMENTS = (
    _gauge("nvsmi_util", Unit.PERCENT, (_MEAN, _PEAK), "share of time in which a kernel ran on the GPU"),
    _gauge("nvsmi_mem_util", Unit.PERCENT, (_MEAN, _PEAK), "share of time in which GPU memory was read or written"),
    _gauge("nvsmi_mem_used", Unit.BYTES, (_PEAK, _MEAN), "GPU memory in use by everyone"),
    _gauge("nvsmi_mem_total", Unit.BYTES, (_PEAK,), "memory of the GPU"),
    _gauge("nvsmi_power", Unit.WATTS, (_MEAN, _PEAK), "power the board draws"),
    _gauge("nvsmi_power_limit", Unit.WATTS, (_PEAK,), "power the board may draw"),
    Measurement(
        "nvsmi_energy_estimate", Kind.COUNTER, Unit.JOULES, Scope.DEVICE, (Reduce.DELTA,), (Stat.TOTAL,),
        "energy by integrating power",
    ),
    _gauge("nvsmi_temp", Unit.CELSIUS, (_PEAK, _MEAN), "temperature of the GPU"),
    _gauge("nvsmi_mem_temp", Unit.CELSIUS, (_PEAK,), "temperature of the GPU's memory"),
    _gauge("nvsmi_sm_clock", Unit.HERTZ, (_MEAN, _PEAK), "clock of the multiprocessors"),
    _gauge("nvsmi_mem_clock", Unit.HERTZ, (_MEAN,), "clock of the GPU's memory"),
    _gauge("nvsmi_fan", Unit.PERCENT, (_PEAK,), "speed the fan is meant to have"),
    _label("nvsmi_name", "model of the GPU"),
    _label("nvsmi_index", "number of the GPU on this machine"),
    _gauge("nvsmi_proc_mem", Unit.BYTES, (_PEAK,), "GPU memory of a process", Scope.PROCESS),
    _gauge("nvsmi_proc_mem_total", Unit.BYTES, (_PEAK, _MEAN), "GPU memory of the job's processes", Scope.JOB),
    _gauge("nvsmi_mem_used_total", Unit.BYTES, (_PEAK, _MEAN), "memory in use on all GPUs of the job", Scope.JOB),
    _gauge("nvsmi_power_total", Unit.WATTS, (_MEAN, _PEAK), "power all GPUs of the job draw", Scope.JOB),
    _gauge("nvsmi_count", Unit.COUNT, (_PEAK,), "GPUs the job uses or was given", Scope.JOB),
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
