"""AMD GPUs by the files of the amdgpu driver, read by the GPU helper process. Untested on hardware.

`rocm_util` of older cards is of an instant, so its mean needs many samples. Figures of a card are those of everyone on
it. There is no counter of energy everybody may read: `rocm_energy_estimate` integrates power.
"""

import os

from jobmeter.collectors.gpu_keys import MEAN, PEAK, counter, gauge, label
from jobmeter.model.measurement import Scope, Unit
from jobmeter.probes import rocmsysfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.collectors import Job, Source
    from jobmeter.probes.paths import Paths

UNTESTED = True

MEASUREMENTS = (
    gauge("rocm_util", Unit.PERCENT, (MEAN, PEAK), "use of the GPU"),
    gauge("rocm_mem_util", Unit.PERCENT, (MEAN, PEAK), "use of the memory's bandwidth"),
    gauge("rocm_mem_used", Unit.BYTES, (PEAK, MEAN), "GPU memory (VRAM) in use by everyone"),
    gauge("rocm_mem_total", Unit.BYTES, (PEAK,), "memory of the GPU"),
    gauge("rocm_power", Unit.WATTS, (MEAN, PEAK), "power the package draws"),
    gauge("rocm_power_limit", Unit.WATTS, (PEAK,), "power the package may draw"),
    counter("rocm_energy_estimate", Unit.JOULES, "energy by integrating power"),
    gauge("rocm_temp", Unit.CELSIUS, (PEAK, MEAN), "temperature at the edge"),
    gauge("rocm_junction_temp", Unit.CELSIUS, (PEAK,), "temperature of the hottest spot"),
    gauge("rocm_mem_temp", Unit.CELSIUS, (PEAK,), "temperature of the memory"),
    gauge("rocm_sm_clock", Unit.HERTZ, (MEAN, PEAK), "clock of the compute units"),
    gauge("rocm_mem_clock", Unit.HERTZ, (MEAN,), "clock of the memory"),
    gauge("rocm_fan", Unit.PERCENT, (PEAK,), "speed the fan is meant to have"),
    label("rocm_name", "model of the card"),
    label("rocm_index", "number of the card on its machine"),
    gauge("rocm_proc_mem", Unit.BYTES, (PEAK,), "GPU memory of a process", Scope.PROCESS),
    gauge("rocm_proc_mem_total", Unit.BYTES, (PEAK, MEAN), "GPU memory of the job's processes", Scope.JOB),
    gauge("rocm_mem_used_total", Unit.BYTES, (PEAK, MEAN), "memory in use on all GPUs of the job", Scope.JOB),
    gauge("rocm_power_total", Unit.WATTS, (MEAN, PEAK), "power all GPUs of the job draw", Scope.JOB),
    gauge("rocm_count", Unit.COUNT, (PEAK,), "GPUs the job uses or was given", Scope.JOB),
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
