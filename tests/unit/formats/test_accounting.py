"""Accounting of schedulers and tools in the forms the corpus does not have: newer, cut, killed, without headers."""

import json
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from jobmeter.formats import (
    sacct,
    sacct_columns,
    scontrol,
    sge,
    sinfo,
    slurm_json,
    slurm_keys,
    squeue,
)
from jobmeter.model.run import Status
from support.foreign import only, read, written


@pytest.mark.parametrize(
    ("text", "cpus", "nodes", "expected"),
    [
        ("3840M", 4, 1, 3840 << 20),
        ("100Mc", 12, 1, 1200 << 20),
        ("48000Mn", 96, 3, 144000 << 20),
        ("62.50G", 1, 1, 67108864000),
        ("0", 1, 1, None),
        ("0n", 1, 1, None),
        ("100Mc", None, 1, None),
        ("", 1, 1, None),
    ],
)
def test_a_request_for_memory_is_of_the_whole_job(
    text: str, cpus: float | None, nodes: float, expected: int | None
) -> None:
    assert slurm_keys.requested_bytes(text, cpus, nodes) == expected


@pytest.mark.parametrize(
    ("text", "word", "status"),
    [
        ("CANCELLED by 2000886", "CANCELLED", Status.CANCELLED),
        ("CANCELLED+", "CANCELLED", Status.CANCELLED),
        ("OUT_OF_ME+", "OUT_OF_MEMORY", Status.KILLED),
        ("CD", "COMPLETED", Status.COMPLETED),
        ("NODE_FAIL", "NODE_FAIL", Status.FAILED),
        ("COMPLET", "", Status.LOST),
        ("", "", Status.LOST),
    ],
)
def test_a_state_of_slurm_is_one_word_and_one_status(text: str, word: str, status: Status) -> None:
    assert slurm_keys.state_word(text) == word
    assert slurm_keys.status(text) is status


def test_energy_in_thousands_is_joules_and_no_value_is_none() -> None:
    assert slurm_keys.joules("1.5M") == 1_500_000
    assert [slurm_keys.joules(text) for text in ("0", "18446744073709551614", "", "n/a")] == [None] * 4


def test_a_job_row_out_of_memory_leaves_an_event_where_its_end_is_known(tmp_path: Path) -> None:
    text = (
        "JobID|State|ExitCode|Start|End|MaxRSS|ReqMem|AllocCPUS\n"
        "7|OUT_OF_MEMORY|0:125|2026-01-15T19:33:36|2026-01-15T19:46:34||4G|2\n"
        "7.batch|OUT_OF_MEMORY|0:125|2026-01-15T19:33:36|2026-01-15T19:46:34|4100M||2\n"
    )
    (found,) = read(written(tmp_path, "sacct.txt", text), "sacct")
    (event,) = found.events
    assert (event.type, event.timestamp, event.details) == ("oom_kill", 1768506394.0, {"step": "7.batch"})
    assert found.run.status is Status.KILLED
    assert "status" not in found.run.provenance.inexact
    assert found.run.summary["slurm_maxrss"] == 4100 << 20


def test_columns_without_a_header_are_told_by_their_shape() -> None:
    times = ["2026-01-15T19:33:36", "2026-01-15T19:46:34", "00:12:58"]
    rows = [
        ["7", "train", "COMPLETED", *times, "12:53.010", "", "0:0"],
        ["7.batch", "batch", "COMPLETED", *times, "00:01.2", "5K", "0:0"],
    ]
    assert sacct_columns.infer(rows) == (
        "jobid", "", "state", "start", "end", "elapsed", "totalcpu", "maxrss", "exitcode",
    )  # fmt: skip
    assert sacct_columns.infer([["a", "b", "c"]]) is None
    assert sacct_columns.infer([]) is None


def test_a_dump_of_sacct_with_crlf_commas_and_widths_is_read(tmp_path: Path) -> None:
    text = "JobID,JobName%30,State,ExitCode,TotalCPU\r\n9,train,FAILED,2:0,00:04.410\r\n"
    run = only(written(tmp_path, "jobs.csv", text), "sacct")
    assert (run.name, run.status, run.exit_code, run.summary) == (
        "train",
        Status.FAILED,
        2,
        {"slurm_cputime": 4.41},
    )


def test_a_header_that_only_shares_common_words_is_not_sacct() -> None:
    assert sacct.sniff(b"user,state,start,end,account\nx,y,z,1,2\n", "x.csv") == 0


def test_newer_json_of_slurm_wraps_states_codes_and_times(tmp_path: Path) -> None:
    def wrapped(number: int, *, is_set: bool = True) -> dict[str, object]:
        return {"set": is_set, "infinite": False, "number": number}

    job = {
        "job_id": 5,
        "name": "train",
        "user": "u",
        "state": {"current": ["CANCELLED"], "reason": "None"},
        "exit_code": {
            "status": ["SIGNALED"],
            "return_code": wrapped(0),
            "signal": {"id": wrapped(9), "name": "KILL"},
        },
        "time": {"elapsed": 60, "start": 1741667820, "end": 1741667880, "submission": 1741667800},
        "required": {"CPUs": 2, "memory_per_cpu": wrapped(1024), "memory_per_node": wrapped(0, is_set=False)},
        "steps": [{"state": ["OUT_OF_MEMORY"], "step": {"id": "5.batch", "name": "batch"}}],
    }
    record = {"meta": {"slurm": {"release": "24.05"}}, "jobs": [job]}
    (found,) = read(written(tmp_path, "sacct.json", json.dumps(record)), "slurm_json")
    run = found.run
    assert (run.status, run.exit_code, run.signal) == (Status.KILLED, 137, "SIGKILL")
    assert (run.limits.memory_bytes, run.limits.cpus) == (2048 << 20, 2.0)
    assert run.summary == {"slurm_elapsed": 60, "slurm_queued": 20}
    assert [event.details["step"] for event in found.events] == ["batch"]


def test_json_of_slurm_that_is_cut_or_holds_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cut off"):
        list(slurm_json.parse(written(tmp_path, "cut.json", '{"meta": {"Slurm": {}}, "jobs": [{"job_')))
    with pytest.raises(UsageError, match="no jobs, nodes or statistics"):
        list(slurm_json.parse(written(tmp_path, "lic.json", '{"meta": {"Slurm": {}}, "licenses": []}')))


def test_one_line_of_scontrol_per_job_is_read_too(tmp_path: Path) -> None:
    line = (
        "JobId={id} JobName=train UserId=u(1) JobState={state} ExitCode=0:9 RunTime=00:01:00 "
        "SubmitTime=2026-01-15T19:00:00 StartTime=2026-01-15T19:33:36 EndTime=2026-01-15T19:34:36 "
        "NumNodes=1 NumCPUs=4 MinMemoryCPU=2G Command=/home/u/run me.sh\n"
    )
    text = line.format(id=1, state="FAILED") + line.format(id=2, state="PENDING")
    first, second = (item.run for item in read(written(tmp_path, "jobs.txt", text), "scontrol"))
    assert (first.status, first.exit_code, first.signal) == (Status.FAILED, 137, "SIGKILL")
    assert first.limits.memory_bytes == 8 << 30
    assert first.command == ("/home/u/run me.sh",)
    assert (second.status, second.started_at) == (Status.QUEUED, None)
    assert scontrol.sniff(b"JobId=7 of the log\n", "x.log") == 0


def test_the_table_of_squeue_keeps_a_reason_with_blanks(tmp_path: Path) -> None:
    text = (
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
        "                 7       gpu    train     anna  R    1:02:03      1 node7\n"
        "               8_1       gpu    train     anna PD       0:00      1 (Nodes required are DOWN)\n"
    )
    first, second = (item.run for item in read(written(tmp_path, "queue.txt", text), "squeue"))
    assert (first.status, first.host, first.wall_seconds, first.user) == (
        Status.RUNNING,
        "node7",
        3723,
        "anna",
    )
    assert second.context["slurm"]["reason"] == "Nodes required are DOWN"  # type: ignore[index]  # plain JSON
    assert squeue.sniff(b"1,apple\n2,pear\n", "fruit.csv") == 0


def test_nodes_with_memory_and_cpus_in_columns_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "sinfo.txt", "a048   163840     193000     3/13/0/16     mixed\n")
    (found,) = read(path, "sinfo")
    (window,) = found.windows
    assert window.values["slurm_node_alloc_mem", "a048"] == 163840 << 20
    assert (window.values["slurm_node_alloc_cpus", "a048"], window.values["slurm_node_cpus", "a048"]) == (
        3,
        16,
    )
    assert sinfo.sniff(b"apples,idle\npears,ripe\n", "x") == 0


def test_a_timed_command_that_a_signal_ended_says_so(tmp_path: Path) -> None:
    text = (
        "training output\nCommand terminated by signal 9\n"
        '\tCommand being timed: "python train.py"\n\tUser time (seconds): 1.50\n\tSystem time (seconds): 0.25\n'
        "\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:02:03\n\tMaximum resident set size (kbytes): 2016\n"
        "\tExit status: 0\n"
    )
    run = only(written(tmp_path, "time.log", text), "time_output")
    assert (run.status, run.exit_code, run.signal) == (Status.KILLED, 137, "SIGKILL")
    assert (run.summary["time_cputime"], run.wall_seconds) == (1.75, 3723)


def test_the_resident_size_of_freebsd_is_in_kib(tmp_path: Path) -> None:
    text = "        1.00 real         0.50 user         0.25 sys\n     20480  maximum resident set size\n"
    text += "     90000  page reclaims\n         0  page faults\n"
    run = only(written(tmp_path, "time.txt", text), "time_output")
    assert run.summary["time_maxrss"] == 20480 * 1024
    assert run.summary["time_cputime"] == 0.75


def test_bash_says_minutes_and_seconds(tmp_path: Path) -> None:
    run = only(
        written(tmp_path, "time.txt", "\nreal\t1m2.500s\nuser\t0m3.250s\nsys\t0m0.125s\n"), "time_output"
    )
    assert run.summary == {
        "time_cputime": 3.375,
        "time_elapsed": 62.5,
        "time_utime": 3.25,
        "time_stime": 0.125,
    }


def test_raw_traces_count_bytes_and_milliseconds_and_a_cached_task_says_so(tmp_path: Path) -> None:
    text = (
        "task_id\thash\tname\tstatus\texit\tsubmit\tstart\tcomplete\trealtime\t%cpu\tpeak_rss\tcpus\tmemory\n"
        "1\tab/12\tfastqc (A)\tCACHED\t0\t1719302359716\t1719302573000\t1719302586000\t12291\t119.6\t274485248\t2\t"
        "4294967296\n"
        "2\tab/13\tfastqc (B)\tABORTED\t2147483647\t1719302359716\t-\t-\t-\t-\t-\t2\t4294967296\n"
    )
    first, second = (item.run for item in read(written(tmp_path, "trace.txt", text), "nextflow"))
    assert (first.started_at, first.wall_seconds) == (1719302573.0, 12.291)
    assert first.summary["nextflow_peak_rss"] == 274485248
    assert first.limits.memory_bytes == 4 << 30
    assert "CACHED" in first.provenance.inexact["status"]
    assert (second.status, second.exit_code, second.summary) == (Status.CANCELLED, None, {})


def test_a_condor_log_with_years_has_a_start_and_a_signal(tmp_path: Path) -> None:
    text = (
        "000 (018.000.000) 2026-01-15 19:16:50 Job submitted from host: <10.0.3.15:9618>\n...\n"
        "001 (018.000.000) 2026-01-15 19:17:02 Job executing on host: <10.0.3.18:9618>\n...\n"
        "005 (018.000.000) 2026-01-15 19:17:06 Job terminated.\n\t(0) Abnormal termination (signal 9)\n...\n"
    )
    run = only(written(tmp_path, "condor.log", text), "htcondor")
    assert (run.status, run.signal, run.started_at) == (Status.KILLED, "SIGKILL", 1768504622.0)
    assert run.host == "10.0.3.18"


def test_grid_engine_tells_arrays_and_signals(tmp_path: Path) -> None:
    line = (
        "all.q:node7:g:anna:train:22947:sge:0:1310761621:1311095354:1311095414:0:137:60:60.05:0.08:104188:0:0:0:0:1:0:0:0:"
        "24:0:0:0:41:549:NONE:dep:NONE:1:3:60.13:7.3:0.0:-l h_vmem=2G -pe mpi 4:0.0:NONE:189153280:0:0\n"
    )
    run = only(written(tmp_path, "accounting", line), "sge")
    assert (run.status, run.signal, run.tags["job"]) == (Status.KILLED, "SIGKILL", "22947.3")
    assert run.limits.memory_bytes == 2 << 30
    assert sge.sniff(b"a:b:c:d\n", "passwd") == 0


def test_a_job_that_waits_has_used_nothing_yet(tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text(
        "JobID|JobName|State|ExitCode|Elapsed|TotalCPU|Start|End\n"
        "901|wait|PENDING|0:0|00:00:00|00:00:00|Unknown|Unknown\n"
    )
    (waits,) = formats.read(path, "sacct", is_named=False)
    assert waits.run.status is Status.QUEUED
    assert waits.run.wall_seconds is None
    assert waits.run.summary == {}


def test_the_long_listing_of_a_queue_begins_with_the_date(tmp_path: Path) -> None:
    path = tmp_path / "queue.txt"
    path.write_text(
        "Wed May 01 10:00:00 2024\n"
        "             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)\n"
        "            123456       gpu    train    alice  RUNNING    1:02:03 1-00:00:00      2 gpu[01-02]\n"
        "            123457       gpu     wait      bob  PENDING       0:00   2:00:00      1 (Resources)\n"
    )
    assert formats.recognise(path) == "squeue"
    runs, waits = (found.run for found in formats.read(path, "squeue", is_named=False))
    assert (runs.status, runs.wall_seconds) == (Status.RUNNING, 3723)
    assert (waits.status, waits.wall_seconds, waits.summary) == (Status.QUEUED, None, {})


def test_the_code_of_a_job_killed_for_memory_is_not_0(tmp_path: Path) -> None:
    path = tmp_path / "seff.txt"
    path.write_text(
        "Job ID: 123457\nCluster: hpc\nUser/Group: alice/users\nState: OUT_OF_MEMORY (exit code 0)\nCores: 1\n"
        "CPU Utilized: 00:00:10\nCPU Efficiency: 50.00% of 00:00:20 core-walltime\nJob Wall-clock time: 00:00:20\n"
        "Memory Utilized: 3.90 GB\nMemory Efficiency: 99.90% of 3.91 GB\n"
    )
    (killed,) = formats.read(path, "seff", is_named=False)
    assert (killed.run.status, killed.run.exit_code) == (Status.KILLED, None)
