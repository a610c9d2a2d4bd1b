"""Real dumps of schedulers, workflows, containers and system tools: what each job used, as its tool wrote it."""

from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.aggregation import headline
from jobmeter.model.imported import Imported
from jobmeter.model.run import Run, Status
from jobmeter.service import importing, runs
from support import corpus


def parsed(name: str) -> list[Imported]:
    path = corpus.ROOT / name
    found = formats.recognise(path)
    assert found is not None
    return list(formats.load(found).parse(path))


def jobs(name: str) -> dict[str, Run]:
    return {item.run.tags["job"]: item.run for item in parsed(name)}


def only(name: str) -> Imported:
    (found,) = parsed(name)
    return found


def test_steps_fold_into_their_job_and_memory_comes_from_them() -> None:
    run = only("slurm-sacct-parsable/genomique_allfields.tsv").run
    assert (run.status, run.exit_code, run.user, run.host) == (Status.COMPLETED, 0, "hermes", "slurm-cpu03")
    assert run.command[0].startswith("sbatch --parsable --job-name 59b3d4de")
    assert run.cwd == "/OPT/pipelines/vidjil-pipeline"
    assert run.summary["slurm_cputime"] == 773.01
    assert run.summary["slurm_elapsed"] == 778
    assert run.summary["slurm_maxrss"] == 1043168 * 1024
    assert run.limits.memory_bytes == 1000 << 20  # less than MaxRSS, and the job completed
    assert run.provenance.missing["slurm_energy"].startswith("0 joules")
    steps = run.context["slurm"]["steps"]  # type: ignore[index]  # plain JSON
    assert [step["step"] for step in steps] == ["batch", "0"]


def test_a_step_out_of_memory_tells_how_a_cancelled_job_ended() -> None:
    run = jobs("slurm-sacct-parsable/slurmdog_4months.psv")["12051616"]
    assert run.status is Status.KILLED
    assert run.provenance.inexact["status"] == (
        "the job's row says CANCELLED by 2000886, its step batch OUT_OF_MEMORY"
    )
    assert (run.exit_code, run.signal) == (None, None)  # 0:125 is no signal
    assert run.summary == {"slurm_cputime": 176.346, "slurm_elapsed": 3878, "slurm_maxrss": 2565880 * 1024}
    assert run.limits.memory_bytes == 3840 << 20


def test_a_job_at_its_time_limit_has_the_signal_of_its_batch_step() -> None:
    found = jobs("slurm-sacct-parsable/slurmdog_4months.psv")
    run = found["11965642"]
    assert (run.status, run.exit_code, run.signal) == (Status.KILLED, 143, "SIGTERM")
    assert run.summary["slurm_cputime"] == 4.41  # 00:04.410 is four seconds
    assert run.wall_seconds == 43226
    assert "columns" in run.provenance.inexact
    assert found["12248731"].status is Status.COMPLETED
    assert found["12248731"].summary["slurm_maxrss"] == 16764 * 1024
    assert found["12762492"].limits.cpus == 4.0
    assert found["12762492"].limits.memory_bytes == 15 << 30


def test_rows_without_a_job_id_are_jobs_each_also_where_two_are_alike() -> None:
    found = parsed("slurm-sacct-parsable/kabre_sacct_energy.psv")
    assert len({item.run.run_id for item in found}) >= 2149
    third = found[2].run
    assert third.summary == {"slurm_alloc_cputime": 4147392, "slurm_energy": 3774906}
    assert third.limits.memory_bytes == 100 << 20  # 100Mc of one CPU
    assert third.started_at is None
    assert found[17].run.limits.memory_bytes == 500 << 30  # 500Gn of one node
    assert "slurm_energy" not in found[0].run.summary
    assert "slurm_energy" not in found[16].run.provenance.missing  # empty, not 0


def test_a_table_that_cuts_its_cells_still_tells_jobs_from_steps() -> None:
    found = jobs("slurm-sacct-table/oodsacct_table.txt")
    assert len(found) == 518
    run = found["1933171"]
    assert (run.status, run.name, run.limits.cpus) == (Status.RUNNING, "pbe_fe_2_+", 28.0)
    assert run.provenance.inexact["status"] == "as of when the file was written"
    steps = run.context["slurm"]["steps"]  # type: ignore[index]  # plain JSON
    assert len(steps) == 11
    assert (found["1938967"].status, found["2054808"].status) == (Status.QUEUED, Status.COMPLETED)
    task = found["2050690_20"].context["slurm"]["steps"]  # type: ignore[index]  # plain JSON
    assert [step["jobname"] for step in task] == ["batch", "extern", "pmi_proxy"]


def test_wrapped_numbers_milliseconds_and_a_garbage_memory_of_sacct_json() -> None:
    run = only("slurm-sacct-json/slurmdog_sacct_23.02.json").run
    assert run.summary["slurm_cputime"] == 1218.048632  # microseconds over a million
    assert run.summary["slurm_maxrss"] == 3462881280
    assert run.summary["slurm_disk_read"] == 5007810406 + 5273
    assert run.limits.memory_bytes == 38400 << 20  # not -9223372036854771968
    assert (run.tags["job"], run.limits.cpus, run.wall_seconds) == ("12078642_6", 10.0, 326)
    assert run.started_at == 1741667820


def test_arrays_of_an_xdmod_dump_keep_their_ids_and_memory_per_cpu() -> None:
    found = jobs("batch-accounting/xdmod_slurm_input_accounting-logs-with-job-arrays.log")
    assert set(found) == {
        "4103947_100", "4103947_[1-3]", "4103947_[1,5]", "4103947_[9-11,20]", "4103947_[91,100-102]",
        "4103947_[9-11,13,16-20]",
    }  # fmt: skip
    run = found["4103947_100"]
    assert (run.status, run.exit_code, run.name) == (Status.KILLED, 1, "1AbC-2-3")
    assert run.limits.memory_bytes == 256 * (3000 << 20)
    assert run.started_at == 1435460150.0


def test_every_report_of_seff_is_a_run_and_the_same_one_twice_is_one() -> None:
    found = parsed("slurm-seff/seff_many.md")
    run = found[0].run
    assert run.tags == {"job": "3431290"}
    assert run.summary["seff_cputime"] == ((28 * 24 + 17) * 60 + 52) * 60 + 34
    assert run.summary["seff_memory"] == round(150.25 * 2**30)
    assert run.summary["seff_cpu_efficiency"] == 88.81
    assert run.wall_seconds == 14 * 3600 + 56 * 60 + 18
    assert (run.limits.cpus, run.limits.memory_bytes) == (52.0, round(355.47 * 2**30))
    assert sum(item.run.tags["job"] == "3431297" for item in found) == 1


def test_scontrol_in_an_epilogue_takes_memory_from_the_table_below_it() -> None:
    run = only("slurm-scontrol/mpi_sortie_8.e").run
    assert (run.status, run.name, run.user) == (Status.RUNNING, "MPI_PMV", "tabernera")
    assert run.ended_at is None  # EndTime is when the limit would end it
    assert run.summary == {"slurm_elapsed": 17, "slurm_queued": 1, "slurm_maxrss": 32248 * 1024}
    assert (run.limits.cpus, run.limits.memory_bytes) == (8.0, 15000 << 20)
    assert run.command == ("/tmp/MPI_job8.sh_Rf9CUL",)


def test_a_queue_tells_states_and_requests_and_no_end() -> None:
    first, second = (item.run for item in parsed("slurm-json/rivos_squeue_out.json"))
    assert (first.status, first.command, first.limits.memory_bytes) == (
        Status.RUNNING,
        ("sleep 100",),
        64000 << 20,
    )
    assert (first.started_at, first.ended_at) == (1684114921, None)
    assert (second.status, second.limits.memory_bytes, second.started_at) == (
        Status.QUEUED,
        131072 << 20,
        None,
    )
    fallback = jobs("slurm-json/rivos_squeue_fallback.txt")
    assert len(fallback) == 6  # two lines are no JSON
    assert fallback["50580016"].limits.memory_bytes == 62.5 * 2**30
    assert fallback["18804"].limits.cpus == 24.0
    states = [run.status for run in jobs("slurm-json/vpenso_squeue.txt").values()]
    assert (states.count(Status.RUNNING), states.count(Status.QUEUED)) == (30, 5)
    assert states.count(Status.PAUSED) == 1


def test_nodes_and_the_scheduler_are_one_window_each() -> None:
    nodes = only("slurm-json/rivos_sinfo_out.json")
    (window,) = nodes.windows
    assert window.values["slurm_node_alloc_cpus", "cs2.example.company.com"] == 4
    assert window.values["slurm_node_free_mem", "cs2.example.company.com"] == 337330 << 20
    text = only("slurm-json/vpenso_sinfo.txt").run
    assert text.context["slurm"]["states"]["down*"] == 66  # type: ignore[index]  # plain JSON
    (told,) = only("slurm-json/vpenso_sdiag.txt").windows
    assert told.timestamp == 1491995041.0
    assert told.values["slurm_jobs_started", ""] == 35395
    assert told.values["slurm_schedule_cycle_max", ""] == 1.40759


def test_a_task_of_nextflow_has_its_figures_in_base_units() -> None:
    found = jobs("nextflow-trace/chipseq_execution_trace.tsv")
    run = found["5"]
    assert run.name == "CHIPSEQ:OUTPUT_DOCUMENTATION"
    assert run.summary["nextflow_peak_rss"] == round(13.1 * 2**20)
    assert run.summary["nextflow_realtime"] == 0.219
    assert run.summary["nextflow_duration"] == 83
    assert run.summary["nextflow_pcpu"] == 84.0
    assert run.summary["nextflow_cputime"] == pytest.approx(0.219 * 0.84)
    assert run.ended_at == pytest.approx(1613257093.997 + 83)
    failed = found["116"]
    assert (failed.status, failed.exit_code) == (Status.FAILED, 127)
    assert "nextflow_peak_rss" not in failed.summary  # a dash
    assert found["24"].provenance.missing["nextflow_peak_rss"].startswith("0:")


def test_pbs_tells_signals_limits_and_queues() -> None:
    found = jobs("batch-accounting/xdmod_pbs_input_accounting-logs.log")
    run = found["6464684.anonhost"]
    assert (run.status, run.exit_code, run.user) == (Status.FAILED, 1, "anonuser")
    assert run.summary["pbs_cputime"] == 10 * 3600 + 16 * 60 + 36
    assert run.summary["pbs_mem"] == 167864 * 1024
    assert (run.limits.memory_bytes, run.limits.cpus) == (1993 << 20, 4.0)
    killed = found["3073070.[hostname_1]"]
    assert (killed.status, killed.exit_code, killed.signal) == (Status.KILLED, 143, "SIGTERM")  # 271
    assert killed.summary["pbs_mem"] == 13145236 * 1024
    assert found["6"].wall_seconds == 2197


def test_grid_engine_and_lsf_tell_cpu_memory_and_waiting() -> None:
    first, second = (item.run for item in parsed("batch-accounting/xdmod_sge_input_accounting-logs.log"))
    assert first.summary["sge_cputime"] == 60.13
    assert first.summary["sge_maxrss"] == 104188 * 1024
    assert first.summary["sge_queued"] == 333733
    assert first.limits.memory_bytes is None
    assert (
        second.limits.memory_bytes == 1_024_000_000_000
    )  # s_vmem=1.024t: a small letter counts in thousands
    run = only("batch-accounting/xdmod_lsf_input_utf8-multibyte-chars.log").run
    assert (run.command, run.status, run.exit_code) == (("aàb",), Status.COMPLETED, 0)
    assert run.summary["lsf_cputime"] == 5794523.29
    assert run.summary["lsf_max_mem"] == 10725376 * 1024
    assert (run.wall_seconds, run.limits.cpus) == (40368, 128.0)


def test_a_condor_log_without_years_has_jobs_with_durations_and_no_start() -> None:
    found = jobs("htcondor-log/bdp1_condor.log")
    run = found["18.0"]
    assert (run.status, run.exit_code, run.started_at) == (Status.COMPLETED, 0, None)
    assert run.summary["condor_cputime"] == 3
    assert run.summary["condor_queued"] == 12
    assert run.limits.memory_bytes == 3987 << 20
    assert "no year" in run.provenance.missing["started_at"]
    held = found["3.0"]
    assert held.status is Status.PAUSED
    assert held.summary["condor_rss"] == 2656 * 1024
    events = [event.type for event in parsed("htcondor-log/bdp1_condor.log")[2].events]
    assert events == ["submitted", "executing", "shadow_exception", "held"]


def test_containers_keep_what_their_answers_hold_and_no_more() -> None:
    stem = "9bc6faf9ba8106fae32e8faafd38a1dd6f6d262bec172398cc10bc03c0d6841a"
    absent = only(f"docker-stats/telegraf_docker_stats_{stem}.json").run
    assert absent.name == "acme-test"
    assert absent.summary == {"docker_cputime": 0.020298847, "docker_blk_read": 753664}
    assert "docker_mem_usage" in absent.provenance.missing
    ecs = only("docker-stats/telegraf_ecs_stats.json")
    (window,) = ecs.windows
    assert window.clock["docker"] == pytest.approx((1698335911.642796, 1698335912.690109))
    assert window.values["docker_mem_usage", ""] == 303104
    assert ecs.run.summary["docker_cputime"] == 0.034818
    assert ecs.run.limits.memory_bytes == 4051226624
    made = only("docker-stats/telegraf_docker_stats_123456789.json").run
    assert (made.summary["docker_net_rx"], made.summary["docker_net_tx"]) == (8, 12)


def test_system_tools_give_their_tables_and_absent_stays_absent() -> None:
    dstat = only("sysstat-cli/dstat_terasort.csv")
    first, second, *_ = dstat.windows
    assert first.timestamp == 1434452802.0
    assert first.values["dstat_mem_cach", ""] == 205011812352  # 2.05011812352e+11
    assert second.values["dstat_cpu_usr", ""] == 8.957
    assert (dstat.run.host, dstat.run.user) == ("arlab151", "spuser")
    (iostat,) = only("sysstat-cli/jc_centos-7.7_iostat-x.out").windows
    assert iostat.values["iostat_read_rate", "sda"] == 5.27 * 1024
    assert iostat.values["iostat_idle", ""] == 99.7
    first, *_ = only("sysstat-cli/jc_centos-7.7_mpstat-A-2-5.out").windows
    assert first.timestamp == 1647011777.0  # 03:16:17 PM
    assert first.values["mpstat_idle", "all"] == 99.5
    assert first.values["mpstat_intr_rate", "0"] == 54.0


def test_what_pidstat_was_not_permitted_to_see_is_absent() -> None:
    first, *_ = only("sysstat-cli/monetdb_pidstat_h.txt").windows
    assert first.timestamp == 1448481504.0
    assert first.values["pidstat_rss", "1"] == 2696 * 1024
    assert (
        first.values["pidstat_cmd", "1"]
        == "/usr/lib/systemd/systemd --switched-root --system --deserialize 24"
    )
    assert ("pidstat_read_rate", "1") not in first.values  # -1.00
    (window,) = only("sysstat-cli/jc_generic_pidstat-ht.out").windows
    assert window.values["pidstat_system_time", "1"] == 4.26
    last = list(only("sysstat-cli/jc_centos-7.7_pidstat-hdlrsuw-2-5.out").windows)[-1]
    assert last.timestamp == 1646859229.0


def test_processes_of_a_mac_and_three_forms_of_time() -> None:
    (window,) = only("sysstat-cli/jc_osx-10.14.6_ps-axu.out").windows
    assert window.values["ps_rss", "1046"] == 498788 * 1024
    assert window.values["ps_cputime", "1046"] == 473.61
    assert window.values["ps_stat", "112"] == {"Ss": 1}
    verbose = only("sysstat-cli/jc_ubuntu-18.04_time-verbose.out").run
    assert (verbose.command, verbose.exit_code) == (("echo",), 0)
    assert verbose.summary["time_maxrss"] == 2016 * 1024
    assert only("sysstat-cli/jc_ubuntu-18.04_time.out").run.summary["time_maxrss"] == 2064 * 1024
    mac = only("sysstat-cli/jc_osx-10.14.6_time-lp.out").run
    assert mac.summary["time_maxrss"] == 688128  # bytes there
    assert "exit_code" in mac.provenance.missing


def test_energy_is_joules_and_a_column_that_lies_about_its_unit_keeps_its_numbers_without_one() -> None:
    first = parsed("energy/FedHENet_emissions.csv")[0].run
    assert first.summary["codecarbon_energy"] == pytest.approx(0.000953649932368 * 3.6e6, abs=1e-6)
    assert first.summary["codecarbon_emissions"] == 0.0001659827707286
    assert first.ended_at == 1758889288.0
    board = only("energy/jetson_codecarbon_emissions.csv").run
    assert "codecarbon_gpu_energy" not in board.summary
    log = only("energy/jetson_power_mislabelled_unit.csv")
    window = next(iter(log.windows))
    assert window.values["power_gpu_power", ""] == 4939.0
    assert log.run.definitions["power_gpu_power"].unit.value == "none"
    assert "perhaps milliwatts" in log.run.provenance.inexact["power_gpu_power"]
    assert log.run.definitions["power_gpu_energy"].unit.value == "none"
    rapl = only("energy/rapl_100ms_noheader.csv")
    last = list(rapl.windows)[-1]
    assert (last.timestamp, last.values["raplcsv_column1", ""]) == (5.01567, 2.66459)
    assert "no header" in rapl.run.provenance.inexact["columns"]


def test_what_a_tool_measured_is_among_the_headlines_and_never_exact() -> None:
    expected = {
        "slurm-sacct-parsable/genomique_allfields.tsv": (773.01, 1043168 * 1024),
        "slurm-seff/seff_many.md": (2483554, round(150.25 * 2**30)),
        "sysstat-cli/jc_ubuntu-18.04_time-verbose.out": (0, 2016 * 1024),
        "batch-accounting/xdmod_sge_input_accounting-logs.log": (60.13, 104188 * 1024),
    }
    for name, (cpu, memory) in expected.items():
        run = parsed(name)[0].run
        figures = headline.headlines(run.summary, run.provenance.inexact)
        assert figures["cpu_seconds"]["value"] == cpu
        assert figures["memory_peak_bytes"]["value"] == memory
        assert not figures["cpu_seconds"]["exact"]
        assert not figures["memory_peak_bytes"]["exact"]


def test_importing_twice_finds_every_job_again(tmp_path: Path) -> None:
    path = str(corpus.folder("slurm-seff") / "seff_many.md")
    first = importing.import_paths(str(tmp_path), [path])
    again = importing.import_paths(str(tmp_path), [path])
    assert len(first.runs) == 63
    assert again.runs == []
    assert {skipped.known_run_id for skipped in again.skipped} == {run.run_id for run in first.runs}
    kept = runs.find(str(tmp_path), first.runs[0].run_id)
    assert kept.limits.cpus == 52.0
    assert kept.user == "fvillena"
    assert kept.headline["cpu_seconds"].value == 2483554
