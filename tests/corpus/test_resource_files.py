"""Real files of monitors and schedulers, found by import alone: every count and value as the tool wrote it."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.model.measurement import problems
from jobmeter.model.run import Run
from jobmeter.model.view import Event, Window
from jobmeter.runfolder import reader
from jobmeter.service import importing, index
from support import corpus

KINDS = {
    "batch-accounting/xdmod_lsf_input_utf8-multibyte-chars.log": ("lsf", 1, 0),
    "batch-accounting/xdmod_pbs_input_accounting-logs.log": ("pbs", 9, 0),
    "batch-accounting/xdmod_sge_input_accounting-logs.log": ("sge", 2, 0),
    "batch-accounting/xdmod_slurm_input_accounting-logs-with-job-arrays.log": ("sacct", 6, 0),
    "dcgm/dcgm_dmon_long.csv": ("dcgm", 1, 114),
    "docker-stats/telegraf_docker_stats_123456789.json": ("docker_stats", 1, 1),
    "docker-stats/telegraf_docker_stats_9bc6faf9ba8106fae32e8faafd38a1dd6f6d262bec172398cc10bc03c0d6841a.json": (
        "docker_stats",
        1,
        1,
    ),
    "docker-stats/telegraf_ecs_stats.json": ("docker_stats", 1, 1),
    "energy/FedHENet_emissions.csv": ("codecarbon", 14, 0),
    "energy/jetson_codecarbon_emissions.csv": ("codecarbon", 1, 0),
    "energy/jetson_power_mislabelled_unit.csv": ("power_csv", 1, 10),
    "energy/rapl_100ms_noheader.csv": ("rapl_csv", 1, 50),
    "htcondor-log/bdp1_condor.log": ("htcondor", 6, 0),
    "intel-gpu/netdata_igt.json": ("intel_gpu_top", 1, 1),
    "nextflow-trace/chipseq_execution_trace.tsv": ("nextflow", 275, 0),
    "nvidia-smi-csv/adial_hand_csv.csv": ("nvidia_smi_csv", 1, 45),
    "nvidia-smi-csv/flame_torchex_power_100ms.csv": ("nvidia_smi_csv", 1, 65),
    "nvidia-smi-csv/gpuglasses_8gpu.csv": ("nvidia_smi_csv", 1, 6),
    "nvidia-smi-csv/rpf_epoch_60s.csv": ("nvidia_smi_csv", 1, 90),
    "nvidia-smi-csv/ters_4xH200_noindex.csv": ("nvidia_smi_csv", 1, 134),
    "nvidia-smi-dmon/nvidia_dmon_u.log": ("nvidia_smi_dmon", 1, 10),
    "nvidia-smi-table/erag_smi_table.log": ("nvidia_smi_table", 1, 22),
    "nvidia-smi-xml/netdata__a100-sxm4-mig.xml": ("nvidia_smi_xml", 1, 1),
    "nvidia-smi-xml/netdata__rtx-pro-6000-driver-580.xml": ("nvidia_smi_xml", 1, 1),
    "nvidia-smi-xml/netdata__tesla-p100.xml": ("nvidia_smi_xml", 1, 1),
    "nvidia-smi-xml/telegraf__a10g.xml": ("nvidia_smi_xml", 1, 1),
    "nvidia-smi-xml/telegraf__rtx-3080-v13.xml": ("nvidia_smi_xml", 1, 1),
    "nvidia-smi-xml/telegraf__tesla-t4.xml": ("nvidia_smi_xml", 1, 1),
    "rocm-smi/telegraf__mi100_rocm602.json": ("rocm_smi", 1, 1),
    "rocm-smi/telegraf__vega-20-WKS-GL-XE.json": ("rocm_smi", 1, 1),
    "slurm-json/rivos_sinfo_out.json": ("slurm_json", 1, 1),
    "slurm-json/rivos_squeue_fallback.txt": ("squeue", 6, 0),
    "slurm-json/rivos_squeue_out.json": ("slurm_json", 2, 0),
    "slurm-json/vpenso_sdiag.txt": ("sdiag", 1, 1),
    "slurm-json/vpenso_sinfo.txt": ("sinfo", 1, 1),
    "slurm-json/vpenso_squeue.txt": ("squeue", 42, 0),
    "slurm-sacct-json/slurmdog_sacct_23.02.json": ("slurm_json", 1, 0),
    "slurm-sacct-parsable/genomique_allfields.tsv": ("sacct", 1, 0),
    "slurm-sacct-parsable/kabre_sacct_energy.psv": ("sacct", 2151, 0),
    "slurm-sacct-parsable/slurmdog_4months.psv": ("sacct", 36, 0),
    "slurm-sacct-table/oodsacct_table.txt": ("sacct", 518, 0),
    "slurm-scontrol/mpi_sortie_8.e": ("scontrol", 1, 0),
    "slurm-seff/seff_many.md": ("seff", 63, 0),
    "sysstat-cli/dstat_terasort.csv": ("dstat", 1, 88),
    "sysstat-cli/jc_centos-7.7_iostat-x.out": ("iostat", 1, 1),
    "sysstat-cli/jc_centos-7.7_mpstat-A-2-5.out": ("sysstat", 1, 5),
    "sysstat-cli/jc_centos-7.7_pidstat-hdlrsuw-2-5.out": ("sysstat", 1, 5),
    "sysstat-cli/jc_generic_pidstat-ht.out": ("sysstat", 1, 1),
    "sysstat-cli/jc_osx-10.14.6_ps-axu.out": ("ps_table", 1, 1),
    "sysstat-cli/jc_osx-10.14.6_time-lp.out": ("time_output", 1, 0),
    "sysstat-cli/jc_ubuntu-18.04_time-verbose.out": ("time_output", 1, 0),
    "sysstat-cli/jc_ubuntu-18.04_time.out": ("time_output", 1, 0),
    "sysstat-cli/monetdb_pidstat_h.txt": ("sysstat", 1, 6),
    "tegrastats/tegra_burn.log": ("tegrastats", 1, 2),
}
"""File of the corpus: its format, how many runs and how many windows it holds."""

FOLDERS = {name.partition("/")[0] for name in KINDS}
MINE = {name for name, _, _ in KINDS.values()}
MANY = 400
"""Files with more jobs are parsed, not written out one folder each."""


@dataclass(frozen=True)
class Kept:
    """A run as the house keeps it after importing."""

    run: Run
    windows: list[Window]
    events: list[Event]


def kept(home: Path, name: str) -> list[Kept]:
    """Import one file by auto-detection and read its runs back."""
    harvest = importing.import_paths(str(home), [str(corpus.ROOT / name)])
    assert harvest.skipped == []
    assert {brought.format for brought in harvest.runs} == {KINDS[name][0]}
    found = []
    for brought in harvest.runs:
        folder = index.folder_of(home, brought.run_id)
        windows, events = list(reader.read_windows(folder)), list(reader.read_events(folder))
        assert (brought.windows, brought.events) == (len(windows), len(events))
        found.append(Kept(reader.read_run(folder), windows, events))
    return found


def only(home: Path, name: str) -> Kept:
    (found,) = kept(home, name)
    return found


def by_job(runs: list[Kept], job: str) -> Run:
    (found,) = [item.run for item in runs if item.run.tags.get("job") == job]
    return found


def device(window: Window, instance: str) -> dict[str, object]:
    return {key: value for (key, owner), value in window.values.items() if owner == instance}


def test_the_list_names_every_file_of_these_kinds() -> None:
    files = {
        str(path.relative_to(corpus.ROOT)) for kind in FOLDERS for path in corpus.folder(kind).rglob("*")
    }
    assert files == set(KINDS)


def test_every_file_is_claimed_by_its_own_format_alone_and_no_other_file_by_any_of_these() -> None:
    claimed: dict[str, set[str]] = {}
    for path in sorted(path for path in corpus.ROOT.rglob("*") if path.is_file()):
        names = {name for name in MINE if formats.claims(path, name)}
        if names:
            claimed[str(path.relative_to(corpus.ROOT))] = names
    sizing = {name for name in claimed if name.startswith("sizing/")}
    assert len(sizing) == 4
    assert {name: names for name, names in claimed.items() if name not in sizing} == {
        name: {kind} for name, (kind, _, _) in KINDS.items()
    }
    assert {frozenset(claimed[name]) for name in sizing} == {frozenset(("nextflow",))}


@pytest.mark.parametrize("name", KINDS)
def test_every_file_is_recognised_and_gives_its_runs_and_windows(name: str) -> None:
    expected, runs, windows = KINDS[name]
    path = corpus.ROOT / name
    assert formats.recognise(path) == expected
    found = list(formats.load(expected).parse(path))
    assert len(found) == runs
    assert sum(1 for item in found for _ in item.windows) == windows
    assert len({item.digest for item in found}) == runs


@pytest.mark.parametrize("name", KINDS)
def test_every_key_has_a_sound_definition_and_nothing_else_is_said(name: str) -> None:
    found = list(formats.load(KINDS[name][0]).parse(corpus.ROOT / name))[:MANY]
    for item in found:
        defined = item.run.definitions
        assert problems(defined.values()) == []
        for window in item.windows:
            assert {key for key, _ in window.values} <= set(defined)
        for key in item.run.summary:
            assert key in defined or any(
                key == one.stat_key(stat.value) for one in defined.values() for stat in one.summary
            )


@pytest.mark.parametrize("name", KINDS)
def test_half_of_every_file_is_read_or_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    source = corpus.ROOT / name
    cut = tmp_path / source.name
    cut.write_bytes(source.read_bytes()[: source.stat().st_size // 2])
    harvest = importing.import_paths(str(tmp_path / "home"), [str(cut)]) if KINDS[name][1] < MANY else None
    if harvest is not None:
        assert len(harvest.runs) + len(harvest.skipped) > 0
        assert all("\n" not in skipped.reason for skipped in harvest.skipped)


def test_four_gpus_without_an_index_are_told_by_their_order_within_a_tick(tmp_path: Path) -> None:
    log = only(tmp_path, "nvidia-smi-csv/ters_4xH200_noindex.csv")
    first = log.windows[0]
    assert first.timestamp == pytest.approx(1750355332.457)
    assert [device(first, gpu)["nvsmi_temp"] for gpu in "0123"] == [29, 26, 25, 28]
    assert {len({owner for _, owner in window.values if owner}) for window in log.windows} == {4}
    assert device(log.windows[-1], "0")["nvsmi_util"] == 16
    assert log.run.summary["nvsmi_peak_util"] == 100
    assert log.run.provenance.inexact["devices"].startswith("the file names no GPU")
    assert log.run.provenance.inexact["started_at"] == "the file names no time zone: read as UTC"


def test_an_index_that_is_0_for_all_gives_way_to_the_column_that_tells_gpus_apart(tmp_path: Path) -> None:
    log = only(tmp_path, "nvidia-smi-csv/gpuglasses_8gpu.csv")
    first, *_, last = log.windows
    assert first.timestamp == 1757323610.0  # +08:00
    assert [device(first, str(gpu))["nvsmi_power"] for gpu in range(8)] == [
        74.01, 73.23, 72.99, 73.99, 72.60, 73.60, 74.18, 73.43,
    ]  # fmt: skip
    assert device(first, "3")["nvsmi_mem_used"] == 4 << 20
    assert first.values["nvsmi_mem_used_total", ""] == 32 << 20
    assert {owner for _, owner in last.values} == {"0", "1", "2"}  # cut off: no sum of three of eight


def test_a_power_log_gives_watts_and_the_energy_under_them(tmp_path: Path) -> None:
    log = only(tmp_path, "nvidia-smi-csv/flame_torchex_power_100ms.csv")
    assert log.windows[0].values["nvsmi_power", "0"] == 18.81
    assert log.run.summary["nvsmi_peak_power"] == 110.85
    assert log.run.wall_seconds == pytest.approx(6.425)
    assert log.run.summary["nvsmi_energy_estimate"] == pytest.approx(49.814923 * 6.425, rel=0.02)


def test_epoch_stamps_and_ragged_blanks_are_read(tmp_path: Path) -> None:
    log = only(tmp_path, "nvidia-smi-csv/rpf_epoch_60s.csv")
    assert [window.timestamp for window in log.windows[:2]] == [1764189075.0, 1764189135.0]
    assert log.windows[1].values["nvsmi_mem_used", "0"] == 442 << 20
    assert log.run.summary["nvsmi_peak_mem_used"] == 10904 << 20
    assert log.run.summary["nvsmi_peak_util"] == 96


def test_a_hand_made_table_says_that_its_date_is_two_dates_and_its_units_are_unsaid(tmp_path: Path) -> None:
    log = only(tmp_path, "nvidia-smi-csv/adial_hand_csv.csv")
    assert {window.timestamp for window in log.windows} == {1614864759.0}  # 4 March, 13:32:39
    assert log.windows[0].values["nvsmi_temp", "0"] == 58
    assert log.run.summary["nvsmi_peak_temp"] == 98
    assert log.run.summary["nvsmi_peak_mem_total"] == 11019 << 20
    assert "may be two dates" in log.run.provenance.inexact["started_at"]
    assert "units" in log.run.provenance.inexact


def test_dmon_has_no_clock_and_the_run_no_start(tmp_path: Path) -> None:
    log = only(tmp_path, "nvidia-smi-dmon/nvidia_dmon_u.log")
    assert [window.values["nvsmi_util", "0"] for window in log.windows] == [
        46,
        45,
        46,
        45,
        46,
        48,
        47,
        35,
        4,
        8,
    ]
    assert [window.values["nvsmi_dec_util", "0"] for window in log.windows][:4] == [1, 1, 1, 0]
    assert log.run.started_at is None
    assert "no clock" in log.run.provenance.missing["started_at"]


def test_the_repeated_table_gives_devices_and_their_processes(tmp_path: Path) -> None:
    log = only(tmp_path, "nvidia-smi-table/erag_smi_table.log")
    first, last = log.windows[0], log.windows[-1]
    assert (first.timestamp, last.timestamp) == (1746332852.0, 1746333262.0)
    assert device(first, "0") == {
        "nvsmi_name": "Quadro RTX 8000",
        "nvsmi_fan": 33,
        "nvsmi_temp": 31,
        "nvsmi_power": 31,
        "nvsmi_power_limit": 260,
        "nvsmi_mem_used": 1 << 20,
        "nvsmi_mem_total": 49152 << 20,
        "nvsmi_util": 0,
        "nvsmi_pstate": "P8",
    }
    assert last.values["nvsmi_proc_mem", "2799301"] == 488 << 20
    assert last.values["nvsmi_proc_name", "2799301"] == "python"
    assert log.run.context["gpu"] == {"driver": "565.57.01", "cuda": "12.7"}


def test_mig_instances_stand_beside_their_gpu_and_are_not_added_to_it(tmp_path: Path) -> None:
    (window,) = only(tmp_path, "nvidia-smi-xml/netdata__a100-sxm4-mig.xml").windows
    gpu = "GPU-27b94a00-ed54-5c24-b1fd-1054085de32a"
    assert device(window, gpu)["nvsmi_power"] == 66.92
    assert device(window, gpu)["nvsmi_mem_used"] == 38 << 20
    assert "nvsmi_util" not in device(window, gpu)
    assert device(window, f"{gpu}/mig-1-0")["nvsmi_mem_used"] == 19 << 20
    assert device(window, f"{gpu}/mig-2-0")["nvsmi_mem_total"] == 19968 << 20
    assert window.values["nvsmi_count", ""] == 1
    assert window.values["nvsmi_mem_used_total", ""] == 38 << 20


def test_of_three_power_figures_the_ones_that_are_not_absent_are_kept(tmp_path: Path) -> None:
    (window,) = only(tmp_path, "nvidia-smi-xml/netdata__rtx-pro-6000-driver-580.xml").windows
    values = device(window, "GPU-11111111-2222-3333-4444-555555555555")
    assert values["nvsmi_power_instant"] == 66.84
    assert "nvsmi_power" not in values
    assert "nvsmi_mem_temp" not in values
    (newest,) = only(tmp_path, "nvidia-smi-xml/telegraf__rtx-3080-v13.xml").windows
    values = device(newest, "GPU-19d6d965-2acc-f646-00f8-4c76979aabb4")
    assert (values["nvsmi_power_average"], values["nvsmi_power_instant"]) == (139.62, 142.33)
    assert (values["nvsmi_util"], values["nvsmi_mem_used"]) == (65, 9630121984)


def test_every_other_schema_of_the_xml_gives_its_figures(tmp_path: Path) -> None:
    expected = {
        "netdata__tesla-p100.xml": ("Tesla P100-PCIE-16GB", 26.16, 38, 0),
        "telegraf__a10g.xml": ("NVIDIA A10G", 25.58, 17, 22 << 20),
        "telegraf__tesla-t4.xml": ("Tesla T4", 26.78, 40, 1032 << 20),
    }
    for name, figures in expected.items():
        (window,) = only(tmp_path, f"nvidia-smi-xml/{name}").windows
        values = {key: value for (key, owner), value in window.values.items() if owner.startswith("GPU-")}
        keys = ("nvsmi_name", "nvsmi_power", "nvsmi_temp", "nvsmi_mem_used")
        assert tuple(values[key] for key in keys) == figures


def test_rows_of_dcgm_come_back_in_order_of_time(tmp_path: Path) -> None:
    log = only(tmp_path, "dcgm/dcgm_dmon_long.csv")
    times = [window.timestamp for window in log.windows]
    assert times == sorted(times)
    assert times[0] == pytest.approx(1718783836.935856, abs=1e-6)
    powers = [window.values.get(("dcgm_power_instant", "0")) for window in log.windows]
    known = [power for power in powers if power is not None]
    assert known == [71.20, 70.49, 70.49, 70.49, 71.53, 71.20, 71.86, 71.86]
    assert log.run.summary["dcgm_peak_power_instant"] == 72.18


def test_cards_of_amd_are_read_under_the_names_of_two_releases(tmp_path: Path) -> None:
    (new,) = only(tmp_path, "rocm-smi/telegraf__mi100_rocm602.json").windows
    card = device(new, "0x79ccd55167a2124a")
    assert (card["rocm_power"], card["rocm_temp"], card["rocm_mem_used"]) == (36, 53, 6750208)
    assert (card["rocm_sm_clock"], card["rocm_index"]) == (300_000_000, "0")
    assert len({owner for _, owner in new.values}) == 4
    (old,) = only(tmp_path, "rocm-smi/telegraf__vega-20-WKS-GL-XE.json").windows
    card = device(old, "0x2f048617326b1ea")
    assert (card["rocm_power"], card["rocm_power_limit"], card["rocm_fan"]) == (26, 225, 0)
    assert card["rocm_name"] == "Radeon Instinct MI50 32GB"


def test_a_jetson_gives_watts_of_each_rail_and_no_cores_that_are_off(tmp_path: Path) -> None:
    log = only(tmp_path, "tegrastats/tegra_burn.log")
    first = log.windows[0].values
    assert log.windows[0].timestamp == 1759347702.0  # month, day: 1 October
    assert first["tegra_ram_used", ""] == 1650 << 20
    assert first["tegra_power", "VDD_IN"] == 4.552
    assert first["tegra_temp", "CPU"] == 43.5
    assert [first.get(("tegra_cpu_util", str(core))) for core in range(6)] == [29, 22, 17, 22, None, None]


def test_engines_and_clients_of_an_intel_gpu_are_read(tmp_path: Path) -> None:
    (window,) = only(tmp_path, "intel-gpu/netdata_igt.json").windows
    assert window.values["intel_busy", "Render/3D/0"] == 96.092944
    assert window.values["intel_power", "Package"] == 16.65862
    assert window.values["intel_clock", ""] == 1253085184
    assert window.values["intel_proc_busy", "2727837"] == pytest.approx(260.689161)
