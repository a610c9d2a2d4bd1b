"""Further forms of what monitors and schedulers print: other delimiters, cut first lines, reports by indentation."""

from pathlib import Path

from support.foreign import read, written

GIB = 1 << 30


QUERY = """
==============NVSMI LOG==============

Timestamp                                 : Wed Aug 30 12:18:12 2023
Driver Version                            : 537.13

Attached GPUs                             : 1
GPU 00000000:08:00.0
    Product Name                          : NVIDIA GeForce RTX 4090
    GPU UUID                              : GPU-e1f5
    PCI
        Tx Throughput                     : 52000 KB/s
    Fan Speed                             : N/A
    FB Memory Usage
        Total                             : 24564 MiB
        Used                              : 2136 MiB
    BAR1 Memory Usage
        Used                              : 1 MiB
    Utilization
        Gpu                               : 2 %
        Memory                            : 1 %
    GPU Power Readings
        Power Draw                        : 72.62 W
    Clocks
        SM                                : 2535 MHz
    Max Clocks
        SM                                : 3120 MHz
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 20
            Type                          : C
            Name                          : python
            Used GPU Memory               : 1024 MiB
"""


def test_the_report_of_nvidia_smi_is_read_by_its_sections(tmp_path: Path) -> None:
    (found,) = read(written(tmp_path, "smi.txt", QUERY), "nvidia_smi_query")
    (window,) = found.windows
    assert window.timestamp == 1693397892.0
    assert {key: value for (key, _), value in window.values.items()} == {
        "nvsmi_util": 2,
        "nvsmi_mem_util": 1,
        "nvsmi_mem_used": 2136 << 20,
        "nvsmi_mem_total": 24564 << 20,
        "nvsmi_bar1_used": 1 << 20,
        "nvsmi_power": 72.62,
        "nvsmi_sm_clock": 2_535_000_000,
        "nvsmi_pcie_tx": 52_000_000,
        "nvsmi_index": "0",
        "nvsmi_name": "NVIDIA GeForce RTX 4090",
        "nvsmi_count": 1,
        "nvsmi_mem_used_total": 2136 << 20,
        "nvsmi_power_total": 72.62,
        "nvsmi_proc_mem": GIB,
        "nvsmi_proc_name": "python",
    }
    assert found.run.context["gpu"] == {"driver": "537.13"}


def test_reports_again_and_again_are_windows(tmp_path: Path) -> None:
    later = QUERY.replace("12:18:12", "12:18:17").replace("2136 MiB", "4096 MiB")
    (found,) = read(written(tmp_path, "smi.log", QUERY + later), "nvidia_smi_query")
    assert [window.values["nvsmi_mem_used", "GPU-e1f5"] for window in found.windows] == [2136 << 20, 4 * GIB]


def test_what_powershell_wrote_is_read(tmp_path: Path) -> None:
    text = "timestamp, utilization.gpu [%], memory.used [MiB]\n2024/05/01 10:00:00.000, 50 %, 1024 MiB\n"
    path = written(tmp_path, "gpu.csv", text.replace("\n", "\r\n"), "utf-16")
    (found,) = read(path, "nvidia_smi_csv")
    (window,) = found.windows
    assert window.values["nvsmi_mem_used", "0"] == GIB


def test_a_queue_with_semicolons_and_one_whose_headings_run_together(tmp_path: Path) -> None:
    parted = written(
        tmp_path, "a.txt", "JOBID;ST;NODES;CPUS;ACCOUNT;USER\n17;PD;1;4;lab;ann\n18;R;1;2;lab;bob\n"
    )
    jobs = read(parted, "squeue")
    assert [(job.run.status.value, job.run.user, job.run.limits.cpus) for job in jobs] == [
        ("queued", "ann", 4.0),
        ("running", "bob", 2.0),
    ]
    glued = (
        "JOBID     PARTITSTATE     ACCOUNT   USER      NAME          TIME        TIME_LIMIT\n"
        "61748185  c23g  RUNNING   rwth      tg49      v2_self       3-09:52:10  6-06:00:00\n"
    )
    (job,) = read(written(tmp_path, "b.txt", glued), "squeue")
    assert (job.run.name, job.run.user, job.run.wall_seconds) == ("v2_self", "tg49", 294730)


def test_a_job_that_was_listed_twice_is_one_run_as_it_stood_last(tmp_path: Path) -> None:
    header = "JOBID PARTITION NAME USER ST TIME\n"
    text = header + "7 gpu train ann PD 0:00\n" + header + "7 gpu train ann R 5:00\n"
    (job,) = read(written(tmp_path, "queue.txt", text), "squeue")
    assert (job.run.status.value, job.run.wall_seconds) == ("running", 300)


def test_tables_of_nodes_are_read_by_their_headings(tmp_path: Path) -> None:
    named = (
        "Thu Nov 02 10:00:00 2023\n"
        "NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON\n"
        "n1             1       gpu        mixed 64     2:32:1 257000        0      1 (null)   none\n"
    )
    (found,) = read(written(tmp_path, "n.txt", named), "sinfo")
    (window,) = found.windows
    assert window.values == {
        ("slurm_node_state", "gpu:n1"): "mixed",
        ("slurm_node_cpus", "gpu:n1"): 64,
        ("slurm_node_mem", "gpu:n1"): 257000 << 20,
    }
    parted = "HOSTNAMES;CPUS;MEMORY;FEATURES\nf1;4;32009;campus\n"
    (found,) = read(written(tmp_path, "p.txt", parted), "sinfo")
    (window,) = found.windows
    assert window.values == {("slurm_node_cpus", "f1"): 4, ("slurm_node_mem", "f1"): 32009 << 20}


def test_a_line_of_sinfo_counts_its_nodes(tmp_path: Path) -> None:
    text = (
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\ndebug*       up   infinite      3   idle n[1-3]\n"
    )
    (found,) = read(written(tmp_path, "s.txt", text), "sinfo")
    assert found.run.context["slurm"] == {"nodes": 3, "states": {"idle": 3}}


def test_nodes_that_scontrol_shows_are_read_in_blocks_and_in_lines(tmp_path: Path) -> None:
    block = (
        "NodeName=a1 Arch=x86_64 CoresPerSocket=1\n   CPUAlloc=55 CPUEfctv=81 CPUTot=96 CPULoad=17.54\n"
        "   RealMemory=1000 AllocMem=100 FreeMem=N/A Sockets=1\n   State=MIXED ThreadsPerCore=1\n\n"
    )
    line = "NodeName=a2 CPUAlloc=0 CPUTot=96 CPULoad=0.00 RealMemory=1000 AllocMem=0 FreeMem=900 State=IDLE\n"
    (found,) = read(written(tmp_path, "n.txt", block + line), "scontrol_nodes")
    (window,) = found.windows
    assert {key: value for (key, node), value in window.values.items() if node == "a1"} == {
        "slurm_node_state": "MIXED",
        "slurm_node_cpus": 96,
        "slurm_node_alloc_cpus": 55,
        "slurm_node_load": 17.54,
        "slurm_node_mem": 1000 << 20,
        "slurm_node_alloc_mem": 100 << 20,
    }
    assert window.values["slurm_node_free_mem", "a2"] == 900 << 20


def test_sysstat_below_a_line_of_nohup_and_without_its_first_line(tmp_path: Path) -> None:
    table = (
        "10:25:29 AM  CPU    %usr   %nice    %sys   %idle\n10:55:29 AM  all    1.00    0.00    0.50   98.50\n"
    )
    machine = "nohup: ignoring input\nLinux 6.8.0 (srv) \t10/23/2025 \t_x86_64_\t(2 CPU)\n\n"
    (whole,) = read(written(tmp_path, "a.log", machine + table), "sysstat")
    assert (whole.run.host, whole.run.started_at) == ("srv", 1761216929.0)
    (cut,) = read(written(tmp_path, "b.log", table), "sysstat")
    assert cut.run.started_at is None
    assert "started_at" in cut.run.provenance.missing


def test_a_jetson_that_does_not_tell_its_gpu_is_still_one(tmp_path: Path) -> None:
    line = "RAM 2633/7850MB (lfb 3x4MB) CPU [0%@2035,off] GPU@41C VDD_IN 3624/3624\n"
    (found,) = read(written(tmp_path, "t.log", line), "tegrastats")
    (window,) = found.windows
    assert window.values["tegra_power", "VDD_IN"] == 3.624
    assert ("tegra_util", "0") not in window.values


def test_seconds_with_a_fraction_of_any_length_are_seconds(tmp_path: Path) -> None:
    text = (
        "Container_ID,Name,CPU_percentage,Mem_usage,Net_I,Time_stamp\n"
        "f131167c3e64,web,0.54%,37.85MiB,18.5kB,1686369009.0408762\n"
        "f131167c3e64,web,0.54%,37.85MiB,19.5kB,1686369038.36714\n"
    )
    (found,) = read(written(tmp_path, "docker_stats.csv", text), "docker_stats")
    assert [window.timestamp for window in found.windows] == [1686369009.0408762, 1686369038.36714]
    assert found.run.wall_seconds == 29.326264


def test_containers_below_dates_are_read_whatever_stands_first(tmp_path: Path) -> None:
    rows = "".join(
        f"2026-04-12 01:31:{second}\nweb,0.73%,617.7MiB / 7.654GiB,7.88%\ndb,0.26%,53.65MiB / 7.654GiB,0.68%\n"
        for second in range(45, 50)
    )
    found = read(written(tmp_path, "docker-stats.log", "written by me\n" + rows), "docker_stats")
    assert [run.run.name for run in found] == ["web", "db"]
    assert [window.timestamp for window in found[0].windows][:2] == [1775957505.0, 1775957506.0]


def test_a_trace_of_chosen_columns_is_one(tmp_path: Path) -> None:
    text = "task_id\tname\tstatus\texit\trealtime\t%cpu\tpeak_rss\n37\tPULL (0)\tCOMPLETED\t0\t4.2s\t37.8%\t37.9 MB\n"
    (found,) = read(written(tmp_path, "trace.txt", text), "nextflow")
    assert (found.run.name, found.run.wall_seconds) == ("PULL (0)", 4.2)


def test_seconds_gone_by_place_the_samples_of_a_gpu(tmp_path: Path) -> None:
    text = "elapsed_sec,gpu_util_pct,mem_used_mb,mem_total_mb\n" + "".join(
        f"{second},0,472,49140\n" for second in (0.08, 0.33, 0.58)
    )
    (found,) = read(written(tmp_path, "gpu_usage.csv", text), "nvidia_smi_csv")
    assert [window.timestamp for window in found.windows] == [0.08, 0.33, 0.58]
    assert (found.run.started_at, found.run.wall_seconds) == (None, 0.5)


def test_steps_are_folded_into_their_job_where_nothing_names_either(tmp_path: Path) -> None:
    text = (
        "User|AllocTRES|CPUTimeRAW|TotalCPU|ElapsedRaw|State|MaxRSS|Partition|\n"
        "ann|cpu=1,mem=100G|814|00:13:00|814|TIMEOUT||compute|\n|cpu=1|814|00:13:00|814|CANCELLED|1024K||\n"
        "bob|cpu=1,mem=1G|10|00:09.000|10|COMPLETED||compute|\n"
    )
    found = read(written(tmp_path, "sacct.txt", text), "sacct")
    assert [(run.run.user, run.run.summary.get("slurm_maxrss")) for run in found] == [
        ("ann", 1 << 20),
        ("bob", None),
    ]


def test_containers_in_one_line_keep_their_own_figures(tmp_path: Path) -> None:
    line = "2024-12-03T20:14:{},e4372c1e283a,web,0.11%,513MiB / 7GiB fb87f88ed80a,db,0.26%,97MiB / 7GiB \n"
    path = written(tmp_path, "docker_stats.csv", line.format(14) + line.format(27))
    web, db = read(path, "docker_stats")
    assert [window.values["docker_mem_used", ""] for window in web.windows] == [513 << 20] * 2
    assert [window.values["docker_pcpu", ""] for window in db.windows] == [0.26] * 2
    assert [window.timestamp for window in db.windows] == [1733256854.0, 1733256867.0]
