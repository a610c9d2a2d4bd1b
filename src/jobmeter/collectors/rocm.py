"""AMD GPUs by the files of the amdgpu driver, read by the GPU helper process. Untested on hardware.

`rocm_util` of older cards is of an instant, so its mean needs many samples. Figures of a card are those of everyone on
it. There is no counter of energy everybody may read: `rocm_energy_estimate` integrates power.
"""

import os

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import rocmsysfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.collectors import Job, Source
    from jobmeter.probes.paths import Paths

UNTESTED = True
_PEAK, _MEAN = Stat.PEAK, Stat.MEAN


def _gauge(
    key: str, unit: Unit, stats: tuple[Stat, ...], about: str, scope: Scope = Scope.DEVICE
) -> Measurement:
    reduce = Reduce.MEAN if stats[:1] == (_MEAN,) else Reduce.MAX
    return Measurement(key, Kind.GAUGE, unit, scope, (reduce,), stats, about)


def _label(key: str, about: str) -> Measurement:
    return Measurement(key, Kind.LABEL, Unit.NONE, Scope.DEVICE, (Reduce.LAST,), (), about)


MEASUREMENTS = (
    _gauge("rocm_util", Unit.PERCENT, (_MEAN, _PEAK), "use of the GPU"),
    _gauge("rocm_mem_util", Unit.PERCENT, (_MEAN, _PEAK), "use of the memory's bandwidth"),
    _gauge("rocm_mem_used", Unit.BYTES, (_PEAK, _MEAN), "GPU memory (VRAM) in use by everyone"),
    _gauge("rocm_mem_total", Unit.BYTES, (_PEAK,), "memory of the GPU"),
    _gauge("rocm_power", Unit.WATTS, (_MEAN, _PEAK), "power the package draws"),
    _gauge("rocm_power_limit", Unit.WATTS, (_PEAK,), "power the package may draw"),
    Measurement(
        "rocm_energy_estimate", Kind.COUNTER, Unit.JOULES, Scope.DEVICE, (Reduce.DELTA,), (Stat.TOTAL,),
        "energy by integrating power",
    ),
    _gauge("rocm_temp", Unit.CELSIUS, (_PEAK, _MEAN), "temperature at the edge"),
    _gauge("rocm_junction_temp", Unit.CELSIUS, (_PEAK,), "temperature of the hottest spot"),
    _gauge("rocm_mem_temp", Unit.CELSIUS, (_PEAK,), "temperature of the memory"),
    _gauge("rocm_sm_clock", Unit.HERTZ, (_MEAN, _PEAK), "clock of the compute units"),
    _gauge("rocm_mem_clock", Unit.HERTZ, (_MEAN,), "clock of the memory"),
    _gauge("rocm_fan", Unit.PERCENT, (_PEAK,), "speed the fan is meant to have"),
    _label("rocm_name", "model of the card"),
    _label("rocm_index", "number of the card on its machine"),
    _gauge("rocm_proc_mem", Unit.BYTES, (_PEAK,), "GPU memory of a process", Scope.PROCESS),
    _gauge("rocm_proc_mem_total", Unit.BYTES, (_PEAK, _MEAN), "GPU memory of the job's processes", Scope.JOB),
    _gauge("rocm_mem_used_total", Unit.BYTES, (_PEAK, _MEAN), "memory in use on all GPUs of the job", Scope.JOB),
    _gauge("rocm_power_total", Unit.WATTS, (_MEAN, _PEAK), "power all GPUs of the job draw", Scope.JOB),
    _gauge("rocm_count", Unit.COUNT, (_PEAK,), "GPUs the job uses or was given", Scope.JOB),
)  # fmt: skip

VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def missing(paths: "Paths") -> str | None:
    """Say why AMD GPUs cannot be read here."""
    if not os.path.exists(f"{paths.dev}/kfd"):
        return f"no AMD GPU for computing: no {paths.dev}/kfd"
    return None if rocmsysfs.cards(paths.sys) else f"no card of the amdgpu driver in {paths.sys}/class/drm"


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Start the helper; what it says is there from the next sample on."""
    from jobmeter.collectors.gpu_devices import JobDevices
    from jobmeter.collectors.gpu_source import GpuSource
    from jobmeter.probes.gpu_process import HelperProcess

    helper = HelperProcess(["rocm", job.paths.sys, job.paths.proc], job.paths.proc)
    return GpuSource(job, MEASUREMENTS, keys, helper, JobDevices(job, VARIABLES, "/dev/kfd"))
