"""CodeCarbon's `emissions.csv`: one row per tracked run, energy in kWh, emissions in kg of CO2.

What misleads: much of it is modelled, not measured (RAM always, CPU wherever RAPL cannot be read), and the file does
not say which; a GPU energy of 0 without a GPU is no measurement; the stamp is local time, of the end.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.formats import jobrecord, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Unit
from jobmeter.model.run import Status, Value

ORIGIN = "codecarbon"
_JOULES = 3_600_000
DEFINITIONS = monitorlog.table(
    (
        jobrecord.total("codecarbon_energy", Unit.JOULES, "energy of CPU, GPU and RAM together"),
        jobrecord.total("codecarbon_cpu_energy", Unit.JOULES, "energy of the CPUs"),
        jobrecord.total("codecarbon_gpu_energy", Unit.JOULES, "energy of the GPUs"),
        jobrecord.total("codecarbon_ram_energy", Unit.JOULES, "energy of memory, by a rule of thumb"),
        jobrecord.largest("codecarbon_cpu_power", Unit.WATTS, "power of the CPUs"),
        jobrecord.largest("codecarbon_gpu_power", Unit.WATTS, "power of the GPUs"),
        jobrecord.largest("codecarbon_ram_power", Unit.WATTS, "power of memory, by a rule of thumb"),
        jobrecord.total("codecarbon_emissions", Unit.NONE, "emissions in kg of CO2 equivalent"),
        jobrecord.total("codecarbon_elapsed", Unit.SECONDS, "how long the run was tracked"),
    )
)
_ENERGIES = {
    "codecarbon_energy": "energy_consumed",
    "codecarbon_cpu_energy": "cpu_energy",
    "codecarbon_gpu_energy": "gpu_energy",
    "codecarbon_ram_energy": "ram_energy",
}
_FIGURES = {
    "codecarbon_cpu_power": "cpu_power",
    "codecarbon_gpu_power": "gpu_power",
    "codecarbon_ram_power": "ram_power",
    "codecarbon_emissions": "emissions",
    "codecarbon_elapsed": "duration",
}
_DETAILS = (
    "experiment_id", "country_name", "country_iso_code", "region", "cloud_provider", "cloud_region", "os",
    "python_version", "codecarbon_version", "cpu_count", "cpu_model", "gpu_count", "gpu_model", "ram_total_size",
    "tracking_mode", "on_cloud", "pue",
)  # fmt: skip
_MODELLED = "measured or modelled: the file does not say which"

Row = dict[str, str]


def sniff(head: bytes, _name: str) -> float:
    """Claim a header with energy and emissions."""
    names = set(monitorlog.head_text(head).partition("\n")[0].strip().split(","))
    return 0.95 if {"emissions", "energy_consumed", "duration"} <= names else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per row."""
    jobs = (_job(row, text) for row, text in _rows(path))
    return jobrecord.imported(path, jobs, format=ORIGIN, tool=ORIGIN, definitions=DEFINITIONS)


def _rows(path: Path) -> Iterator[tuple[Row, str]]:
    lines = monitorlog.text_lines(path)
    names = next(lines, "").strip().split(",")
    for line in lines:
        cells = monitorlog.csv_cells(line)
        if len(cells) == len(names):  # a shorter one is torn off
            yield (
                {name: cell for name, cell in zip(names, cells, strict=True) if not quantity.is_absent(cell)},
                line,
            )


def _job(row: Row, text: str) -> jobrecord.Job:
    ended, seconds = quantity.moment(row.get("timestamp", "")), quantity.number(row.get("duration", ""))
    gpus = quantity.number(row.get("gpu_count", ""))
    summary = _summary(row, has_gpu=bool(gpus))
    started = ended.seconds - seconds if ended and seconds is not None else None
    inexact = {"codecarbon_energy": _MODELLED}
    inexact["status"] = "a row says that tracking ended, not how the run did"
    if ended and not ended.zoned:
        inexact["started_at"] = f"end less duration; {monitorlog.NO_ZONE}"
    missing = {} if gpus else {"codecarbon_gpu_energy": "no GPU was tracked"}
    return jobrecord.Job(
        id=row.get("run_id", ""),
        text=text,
        status=Status.COMPLETED,
        name=row.get("project_name"),
        project=row.get("project_name"),
        started_at=started,
        ended_at=ended.seconds if ended else None,
        wall_seconds=seconds,
        summary=summary,
        details={name: row[name] for name in _DETAILS if name in row},
        missing={"command": "CodeCarbon does not record it", **missing},
        inexact=inexact,
    )


def _summary(row: Row, *, has_gpu: bool) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, column in _ENERGIES.items():
        kilowatt_hours = quantity.number(row.get(column, ""))
        if kilowatt_hours is not None:
            found[key] = quantity.tidy(kilowatt_hours * _JOULES)
    for key, column in _FIGURES.items():
        value = quantity.number(row.get(column, ""))
        if value is not None:
            found[key] = value
    if not has_gpu:
        found = {key: value for key, value in found.items() if "gpu" not in key}
    return found
