"""The families about runs, steps and the export itself; those of measurements are named after their keys."""

from jobmeter.exporters.metric_names import PREFIX, Family, Type


def _gauge(name: str, about: str) -> Family:
    return Family(PREFIX + name, Type.GAUGE, about)


RUN_INFO = Family(f"{PREFIX}run", Type.INFO, "a run: its name, user, command's first word and tool")
RUN_STATE = _gauge("run_state", "1 for the state a run is in")
RUN_STARTED = _gauge("run_start_time_seconds", "when a run began, since the epoch")
RUN_ENDED = _gauge("run_end_time_seconds", "when a run ended, since the epoch")
RUN_WALL = _gauge("run_wall_seconds", "how long a run took, by the monotonic clock; of ended runs")
RUN_EXIT_CODE = _gauge("run_exit_code", "exit code of an ended run")
RUN_SAMPLE_TIME = _gauge("run_last_sample_time_seconds", "when a run was last measured, since the epoch")
LIMIT_MEMORY = _gauge(
    "run_memory_limit_bytes", "memory the job may use: the tightest limit that holds for it"
)
LIMIT_CPUS = _gauge("run_cpu_limit_cores", "CPUs the job may use")
HEADLINES: dict[str, Family] = {
    "cpu_seconds": _gauge("run_cpu_seconds", "CPU time of record so far"),
    "memory_peak_bytes": _gauge("run_memory_peak_bytes", "most memory the job needed so far"),
    "io_read_bytes": _gauge("run_io_read_bytes", "bytes read so far"),
    "io_write_bytes": _gauge("run_io_write_bytes", "bytes written so far"),
    "gpu_util_percent": _gauge("run_gpu_util_percent", "mean utilisation of the run's GPUs so far"),
    "gpu_memory_peak_bytes": _gauge("run_gpu_memory_peak_bytes", "most GPU memory in use so far"),
    "energy_joules": _gauge("run_energy_joules", "energy used so far"),
}
"""By the names of `headline` in `show --json`; they may be corrected downwards, so none is a counter."""

STEP = _gauge("step", "the last step of a training loop, by rank")
STEP_ROWS = Family(f"{PREFIX}step_rows", Type.COUNTER, "steps a training loop told, by rank")
STEP_TIME = _gauge("step_time_seconds", "when the last step was told, since the epoch")
STEP_VALUE = _gauge("step_value", "last value of a metric that a training loop logged, by rank and metric")

BUILD = Family(f"{PREFIX}build", Type.INFO, "the jobmeter that serves these metrics")
RUNS = _gauge("runs", "runs in the index that have not ended, by state")
SERIES = _gauge("export_series", "series of runs in this answer")
SERIES_LEFT_OUT = _gauge("export_series_left_out", "series of runs that did not fit into this answer")
RUNS_LEFT_OUT = _gauge("export_runs_left_out", "runs of which no series fitted into this answer")

OUTLET_SAMPLES = Family(f"{PREFIX}outlet_samples", Type.COUNTER, "samples that a receiver took, by outlet")
OUTLET_DROPPED = Family(
    f"{PREFIX}outlet_dropped_samples", Type.COUNTER, "samples that were given up, by outlet and reason"
)
OUTLET_REQUESTS = Family(f"{PREFIX}outlet_requests", Type.COUNTER, "batches sent, by outlet")
OUTLET_RETRIES = Family(
    f"{PREFIX}outlet_retries", Type.COUNTER, "batches that were not taken at once, by outlet"
)
OUTLET_DELIVERED = _gauge(
    "outlet_last_delivery_time_seconds", "when a receiver last took a batch, since the epoch"
)

OF_RUNS = (
    *(RUN_INFO, RUN_STATE, RUN_STARTED, RUN_ENDED, RUN_WALL, RUN_EXIT_CODE, RUN_SAMPLE_TIME),
    *(LIMIT_MEMORY, LIMIT_CPUS, *HEADLINES.values(), STEP, STEP_ROWS, STEP_TIME, STEP_VALUE),
)
OF_THE_SERVER = (
    *(BUILD, RUNS, SERIES, SERIES_LEFT_OUT, RUNS_LEFT_OUT),
    *(OUTLET_SAMPLES, OUTLET_DROPPED, OUTLET_REQUESTS, OUTLET_RETRIES, OUTLET_DELIVERED),
)
