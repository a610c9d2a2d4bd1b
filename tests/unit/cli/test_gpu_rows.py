"""GPUs on the page of a run: nothing is said twice, nothing that was not measured is said."""

from jobmeter.cli.render.gpu_rows import gpu_rows
from jobmeter.cli.render.rows import Row
from jobmeter.model.run import Headline, Run, Status, Value

GIB = 1024**3


def headline(value: float, key: str) -> Headline:
    return Headline(value=value, low=value, high=value, keys=(key,), exact=False)


def rows(headlines: dict[str, Headline], **summary: Value) -> list[Row]:
    run = Run(
        run_id="r",
        job_id="r",
        status=Status.COMPLETED,
        command=(),
        headline=headlines,
        summary=dict(summary),
    )
    return list(gpu_rows(run))


def test_a_run_without_gpus_has_no_row() -> None:
    assert rows({}) == []


def test_one_gpu_has_one_label() -> None:
    found = rows(
        {
            "gpu_util_percent": headline(95.0, "nvml_mean_util"),
            "gpu_memory_peak_bytes": headline(11 * GIB, "nvml_peak_proc_mem_total"),
        },
        nvml_name="NVIDIA H200",
        nvml_peak_count=1,
        nvml_peak_mem_used=12 * GIB,
        nvml_peak_mem_total=140 * GIB,
        nvml_mean_power=646.2,
        nvml_peak_temp=49,
    )
    assert found == [
        Row("GPU", "~95 % busy", "nvml_mean_util"),
        Row("", "~11 GiB peak held by the job's processes", "nvml_peak_proc_mem_total"),
        Row("", "NVIDIA H200, 12 GiB of 140 GiB in use (8.6 %)"),
        Row("", "646 W on average, up to 49 °C", "nvml_mean_power, nvml_peak_temp"),
    ]


def test_what_is_in_use_on_a_single_gpu_is_said_once() -> None:
    found = rows(
        {"gpu_memory_peak_bytes": headline(12 * GIB, "nvml_peak_mem_used_total")},
        nvml_name="NVIDIA H200",
        nvml_peak_count=1,
        nvml_peak_mem_used=12 * GIB,
        nvml_peak_mem_total=140 * GIB,
    )
    assert found == [
        Row("GPU", "~12 GiB peak of 140 GiB (8.6 %)", "nvml_peak_mem_used_total"),
        Row("", "NVIDIA H200"),
    ]


def test_gpus_of_a_file_that_names_no_model_are_counted() -> None:
    found = rows(
        {"gpu_memory_peak_bytes": headline(32 * GIB, "nvsmi_peak_mem_used_total")},
        nvsmi_peak_count=8,
        nvsmi_peak_mem_used=4 * GIB,
        nvsmi_peak_mem_total=80 * GIB,
        nvsmi_mean_power=73.4,
    )
    assert [row.body for row in found] == [
        "~32 GiB peak in use on its GPUs",
        "8 GPUs, fullest 4 GiB of 80 GiB in use (5 %)",
        "73 W each on average",
    ]
