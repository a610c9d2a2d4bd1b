"""Logs of GPUs in the forms the corpus does not have: without headers, with dates, cut, mixed."""

from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from jobmeter.formats import (
    dcgm,
    intel_gpu_top,
    nvidia_smi_csv,
    nvidia_smi_dmon,
    nvidia_smi_table,
    nvidia_smi_xml,
    rocm_smi,
    tegrastats,
)
from jobmeter.model.imported import Imported
from jobmeter.model.view import Window
from jobmeter.probes import nvsmitext, rocmtext
from support.foreign import written


def read(path: Path, format_name: str) -> Imported:
    assert formats.recognise(path) == format_name
    (found,) = formats.load(format_name).parse(path)
    return found


def windows(found: Imported) -> list[Window]:
    return list(found.windows)


def test_crlf_a_byte_order_mark_and_a_torn_last_line_do_no_harm(tmp_path: Path) -> None:
    text = (
        "\ufefftimestamp, index, power.draw [W], memory.used [MiB]\r\n"
        "2026/01/03 15:36:53.507, 0, 33.09 W, 1129 MiB\r\n"
        "2026/01/03 15:36:53.509, 1, [N/A], 5 MiB\r\n"
        "2026/01/03 15:36:54.507, 0, 34.00 W, 11"
    )
    found = read(written(tmp_path, "gpu.csv", text), "nvidia_smi_csv")
    first, second = windows(found)
    assert first.values["nvsmi_power", "0"] == 33.09
    assert first.values["nvsmi_mem_used", "0"] == 1129 << 20
    assert ("nvsmi_power", "1") not in first.values
    assert ("nvsmi_power_total", "") not in first.values
    assert second.values["nvsmi_mem_used", "0"] == 11 << 20  # torn inside a number: nothing tells


def test_rows_without_a_header_are_told_by_their_units(tmp_path: Path) -> None:
    text = "\n".join(
        f"2026/01/03 15:36:{second}.507, {gpu}, {20 + gpu} %, 0 %, {100 + gpu} MiB, 81559 MiB, 70.5 W"
        for second in (53, 54)
        for gpu in (0, 1)
    )
    found = read(written(tmp_path, "gpu.log", text + "\n"), "nvidia_smi_csv")
    first, second = windows(found)
    assert (first.values["nvsmi_util", "1"], first.values["nvsmi_mem_util", "1"]) == (21, 0)
    assert first.values["nvsmi_mem_used", "0"] == 100 << 20
    assert first.values["nvsmi_mem_total", "0"] == 81559 << 20
    assert second.values["nvsmi_power_total", ""] == 141.0
    assert "no header" in found.run.provenance.inexact["columns"]


def test_processes_on_gpus_are_kept_by_pid(tmp_path: Path) -> None:
    text = (
        "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        "2026/01/03 15:36:53.507, GPU-a, 17, python, 100 MiB\n"
        "2026/01/03 15:36:53.507, GPU-a, 18, python, 200 MiB\n"
        "2026/01/03 15:36:54.507, GPU-a, 17, python, 300 MiB\n"
    )
    first, second = windows(read(written(tmp_path, "apps.csv", text), "nvidia_smi_csv"))
    assert first.values == {("nvsmi_proc_mem", "17"): 100 << 20, ("nvsmi_proc_mem", "18"): 200 << 20}
    assert second.values["nvsmi_proc_mem", "17"] == 300 << 20


def test_a_table_of_training_steps_with_gpu_columns_is_not_a_gpu_log() -> None:
    head = b"step,loss,gpu_util,gpu_memory,gpu_temp\n1,0.5,10,20,30\n"
    assert nvidia_smi_csv.sniff(head, "metrics.csv") == 0
    assert nvidia_smi_csv.sniff(b"city,temperature,power,util\nOslo,3,1,2\n", "x.csv") == 0


def test_dmon_with_dates_and_two_gpus_has_a_clock(tmp_path: Path) -> None:
    text = (
        "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    fb\n"
        "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %    MB\n"
        " 20260103   15:36:53      0     70     33      -     46     26   100\n"
        " 20260103   15:36:53      1     71     34      -     47     27   200\n"
        " 20260103   15:36:54      0     72     33      -     48     28   300\n"
    )
    found = read(written(tmp_path, "dmon.log", text), "nvidia_smi_dmon")
    first, second = windows(found)
    assert (first.timestamp, second.timestamp) == (1767454613.0, 1767454614.0)
    assert first.values["nvsmi_mem_used", "1"] == 200 << 20
    assert ("nvsmi_mem_temp", "0") not in first.values
    assert found.run.started_at == 1767454613.0


def test_pmon_gives_processes_and_a_dash_is_none(tmp_path: Path) -> None:
    text = (
        "# gpu         pid   type     sm    mem    enc    dec    fb   command\n"
        "# Idx           #    C/G      %      %      %      %    MB   name\n"
        "    0       4711     C     97     43      -      -   512   python train.py\n"
        "    1          -     -      -      -      -      -     -   -\n"
        "    0       4711     C     90     40      -      -   513   python train.py\n"
    )
    first, second = windows(read(written(tmp_path, "pmon.log", text), "nvidia_smi_dmon"))
    assert first.values == {
        ("nvsmi_proc_mem", "4711"): 512 << 20,
        ("nvsmi_proc_mem_util", "4711"): 43,
        ("nvsmi_proc_util", "4711"): 97,
        ("nvsmi_proc_name", "4711"): "python train.py",
    }
    assert second.values["nvsmi_proc_util", "4711"] == 90


def test_a_table_in_the_middle_of_a_log_is_not_a_gpu_log() -> None:
    head = b"loading\nmodel\nready\nstep 1\n| NVIDIA-SMI 565.57.01   Driver Version: 565.57.01 |\n+----+\n"
    assert nvidia_smi_table.sniff(head, "train.log") == 0


def test_an_old_table_with_errors_keeps_what_it_says(tmp_path: Path) -> None:
    text = (
        "| NVIDIA-SMI 418.67       Driver Version: 418.67       CUDA Version: 10.1     |\n"
        "|   0  Tesla K80           On   | 00000000:00:04.0 Off |                    0 |\n"
        "| N/A   ERR!   P8   ERR! / 149W |     11MiB / 11441MiB |      0%      Default |\n"
        "|    0      4711      C   python                                     11MiB |\n"
    )
    (window,) = windows(read(written(tmp_path, "smi.txt", text), "nvidia_smi_table"))
    assert window.values["nvsmi_mem_used", "0"] == 11 << 20
    assert window.values["nvsmi_power_limit", "0"] == 149
    assert window.values["nvsmi_proc_mem", "4711"] == 11 << 20
    assert not {("nvsmi_temp", "0"), ("nvsmi_power", "0"), ("nvsmi_fan", "0")} & set(window.values)


def test_several_xml_documents_are_several_windows_and_a_cut_one_is_left_out(tmp_path: Path) -> None:
    one = (
        '<?xml version="1.0" ?><nvidia_smi_log><timestamp>Mon Apr 24 16:22:3{} 2023</timestamp>'
        "<gpu><uuid>GPU-a</uuid><temperature><gpu_temp>4{} C</gpu_temp></temperature>"
        "<clocks_event_reasons><clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>"
        "</clocks_event_reasons></gpu></nvidia_smi_log>\n"
    )
    path = written(tmp_path, "smi.xml", one.format(1, 0) + one.format(2, 1) + one[:90])
    first, second = windows(read(path, "nvidia_smi_xml"))
    assert (first.values["nvsmi_temp", "GPU-a"], second.values["nvsmi_temp", "GPU-a"]) == (40, 41)
    assert second.timestamp - first.timestamp == 1
    assert first.values["nvsmi_throttle", "GPU-a"] == {"sw_power_cap": 1}
    path = written(tmp_path, "cut.xml", one[:90])
    with pytest.raises(UsageError, match="no whole document"):
        list(nvidia_smi_xml.parse(path))


def test_an_xml_document_cannot_expand_entities(tmp_path: Path) -> None:
    text = '<!DOCTYPE nvidia_smi_log [<!ENTITY a "boom">]><nvidia_smi_log><timestamp>&a;</timestamp></nvidia_smi_log>'
    with pytest.raises(UsageError):
        list(nvidia_smi_xml.parse(written(tmp_path, "x.xml", text)))


def test_the_exporter_and_dmon_of_dcgm_are_read(tmp_path: Path) -> None:
    exported = (
        "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n"
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",device="nvidia0"} 46\n'
        'DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",device="nvidia0"} 1024\n'
    )
    (window,) = windows(read(written(tmp_path, "metrics.prom", exported), "dcgm"))
    assert window.values == {("dcgm_util", "GPU-a"): 46, ("dcgm_mem_used", "GPU-a"): 1024 << 20}
    table = (
        "#Entity   GPUTL  POWER\nID\nGPU 0     5      70.1\nGPU 1     N/A    71.2\nGPU 0     6      70.2\n"
    )
    first, second = windows(read(written(tmp_path, "dmon.txt", table), "dcgm"))
    assert first.values == {("dcgm_util", "0"): 5, ("dcgm_power", "0"): 70.1, ("dcgm_power", "1"): 71.2}
    assert second.values["dcgm_util", "0"] == 6


def test_the_energy_counter_of_dcgm_becomes_what_was_added(tmp_path: Path) -> None:
    rows = "GPUId,TimeStampUs,Field,Values\n0,2000000000000000,total_energy_consumption,5000\n"
    rows += (
        "0,1999999999000000,total_energy_consumption,3000\n0,2000000001000000,total_energy_consumption,9000\n"
    )
    found = read(written(tmp_path, "dcgm.csv", rows), "dcgm")
    assert [window.values for window in found.windows] == [
        {("dcgm_energy", "0"): 2},
        {("dcgm_energy", "0"): 4},
    ]
    assert windows(found)[0].clock == {"dcgm": (1999999999.0, 2000000000.0)}
    assert found.run.summary["dcgm_energy"] == 6


def test_old_boards_say_milliwatts_without_saying_so_and_have_no_clock(tmp_path: Path) -> None:
    line = (
        "RAM 2448/7772MB (lfb 3x4MB) CPU [0%@345,off,12%@345] EMC_FREQ 3%@1331 GR3D_FREQ 99%@114 PLL@42C "
        "POM_5V_IN 2532/2532 POM_5V_GPU 40/40\n"
    )
    found = read(written(tmp_path, "tegra.log", line * 2), "tegrastats")
    first, second = windows(found)
    assert first.values["tegra_power", "POM_5V_IN"] == 2.532
    assert (first.values["tegra_util", "0"], first.values["tegra_emc_util", ""]) == (99, 3)
    assert ("tegra_cpu_util", "1") not in first.values
    assert (first.timestamp, second.timestamp, found.run.started_at) == (0.0, 1.0, None)


def test_an_unclosed_list_of_intel_periods_is_read_up_to_the_tear(tmp_path: Path) -> None:
    one = '{"period": {"duration": 500.0}, "rc6": {"value": 7.5}, "engines": {"Render/3D/0": {"busy": 5}}}'
    found = read(written(tmp_path, "igt.json", f"[\n{one},\n{one},\n{one[:40]}"), "intel_gpu_top")
    assert [window.timestamp for window in found.windows] == [0.5, 1.0]
    assert windows(found)[0].values["intel_rc6", ""] == 7.5


def test_rocm_takes_power_under_any_of_its_names_and_leaves_out_what_is_absent() -> None:
    new = {"Current Socket Graphics Package Power (W)": "120.5", "Average Graphics Package Power (W)": "N/A"}
    assert rocmtext.values(new) == {"power": 120.5}
    assert rocmtext.identity("card3", {"Unique ID": "N/A"}) == "3"
    assert rocmtext.parse("not json") is None
    assert rocmtext.parse("[]") is None
    assert rocm_smi.sniff(b'{"card0": {"name": "ace of spades"}}', "deck.json") == 0


@pytest.mark.parametrize(
    ("header", "cell", "expected"),
    [
        ("memory.used [MiB]", "1129 MiB", 1129 << 20),
        ("memory.used", "4", 4 << 20),
        ("power.draw [W]", "33.09", 33.09),
        ("utilization.gpu [%]", "7 %", 7),
        ("utilization.gpu [%]", "7%", 7),
        ("clocks.sm [MHz]", "1410 MHz", 1_410_000_000),
        ("power.draw [W]", "[N/A]", None),
        ("power.draw [W]", "[Not Supported]", None),
        ("power.draw [W]", "Requested functionality has been deprecated", None),
        ("power.draw [W]", "nan", None),
        ("colour", "7", None),
    ],
)
def test_a_cell_of_nvidia_smi_is_a_value_in_base_units(
    header: str, cell: str, expected: float | None
) -> None:
    assert nvsmitext.value(header, cell) == expected


def test_rows_of_nvidia_smi_leave_out_what_is_absent() -> None:
    text = "index, power.draw [W]\n0, 33.09 W\n1, [N/A]\n"
    assert nvsmitext.parse_csv(text) == [{"index": "0", "power.draw [W]": "33.09 W"}, {"index": "1"}]
    assert nvsmitext.parse_csv("0, 5\n", ["index", "x"]) == [{"index": "0", "x": "5"}]
    assert nvsmitext.parse_csv("") == []


@pytest.mark.parametrize(
    "module", [dcgm, intel_gpu_top, nvidia_smi_csv, nvidia_smi_dmon, nvidia_smi_table, tegrastats]
)
def test_a_file_without_samples_is_refused_in_a_sentence(module: formats.Format, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        list(module.parse(written(tmp_path, "empty", "\n")))


def test_the_name_of_a_process_has_no_blanks_around_it(tmp_path: Path) -> None:
    path = tmp_path / "pmon.txt"
    path.write_text(
        "# gpu         pid   type     sm    mem     fb    command \n"
        "# Idx           #    C/G      %      %     MB    name \n"
        "    0       4321     C     17      2   1220    python3 -m train     \n"
    )
    (run,) = nvidia_smi_dmon.parse(path)
    (window,) = run.windows
    assert window.values["nvsmi_proc_name", "4321"] == "python3 -m train"
