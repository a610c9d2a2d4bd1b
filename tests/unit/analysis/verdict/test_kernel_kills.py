"""Verdicts on runs the kernel killed: its counters, its log, the limits there were."""

from jobmeter.model.report import Cause
from jobmeter.model.run import Headline, Limits, Provenance, Status
from support.verdicts import decide, event, told

MIB = 1 << 20

OOM = event("oom_kill", count=1, key="cgroup_oom_kill")


def test_the_kernels_counter_names_the_limit_and_how_near_the_job_was() -> None:
    found = decide(
        OOM,
        signal="SIGKILL",
        limits=Limits(memory_bytes=256 * MIB),
        summary={"cgroup_oom_kill": 1, "cgroup_mem_peak": 255 * MIB},
        errors=(told("kernel_oom", fields={"pid": 812, "process": "python"}, level="CRITICAL"),),
    )
    assert found.cause is Cause.OOM_CGROUP
    assert found.sentence == "the kernel killed python (pid 812) at 255 MiB of the 256 MiB the job may use"
    assert found.confidence == 0.98
    assert [one.source for one in found.evidence] == [
        "event oom_kill",
        "cgroup_mem_peak",
        "exit status",
        "log",
    ]


def test_a_kill_far_below_the_jobs_own_limit_was_the_machines() -> None:
    found = decide(
        signal="KILL",
        limits=Limits(memory_bytes=256 * MIB),
        summary={"cgroup_oom_kill": 2, "cgroup_mem_peak": MIB},
    )
    assert found.cause is Cause.OOM_HOST
    assert found.sentence == (
        "the kernel killed 2 processes at 1 MiB of the 256 MiB the job may use because the machine had no memory left"
    )


def test_hits_of_the_limit_tell_it_from_a_full_machine() -> None:
    summary = {"cgroup_oom_kill": 1, "cgroup_mem_max_events": 9}
    assert decide(exit_code=137, summary=summary).cause is Cause.OOM_CGROUP


def test_without_any_limit_it_was_the_machine() -> None:
    assert decide(exit_code=137, summary={"cgroup_oom_kill": 1}).cause is Cause.OOM_HOST


def test_a_scheduler_that_counts_speaks_of_its_own_limit() -> None:
    found = decide(
        event("oom_kill", step="1.batch"), status=Status.KILLED, provenance=Provenance(origin="sacct")
    )
    assert (found.cause, found.sentence) == (Cause.OOM_CGROUP, "the kernel killed a process")


def test_the_enclosing_cgroup_needs_a_kill_in_the_job() -> None:
    outer = {"cgroup_outer_oom_kill": 1, "cgroup_outer_mem_peak": 250 * MIB}
    limits = Limits(memory_bytes=256 * MIB)
    assert decide(signal="SIGKILL", summary=outer, limits=limits).cause is Cause.OOM_CGROUP
    assert decide(exit_code=1, summary=outer, limits=limits).cause is Cause.UNKNOWN
    failed = told("child_failed", fields={"exit_code": -9})
    assert decide(exit_code=1, summary=outer, limits=limits, errors=(failed,)).cause is Cause.OOM_CGROUP
    worker = told("worker_killed", fields={"pid": 7, "signal": "Killed"})
    found = decide(exit_code=1, summary=outer, limits=limits, errors=(worker,))
    assert found.sentence == "the kernel killed a worker (pid 7) at 250 MiB of the 256 MiB the job may use"
    nameless = told("worker_killed")
    assert "a process" in decide(exit_code=1, summary=outer, errors=(nameless,)).sentence


def test_the_machines_counter_counts_where_the_job_has_none_of_its_own() -> None:
    assert decide(signal="SIGKILL", summary={"host_oom_kill": 1}).cause is Cause.OOM_HOST
    assert (
        decide(signal="SIGKILL", summary={"host_oom_kill": 1, "cgroup_oom_kill": 0}).cause
        is Cause.KILLED_SIGNAL
    )


def test_a_job_that_ended_well_in_spite_of_a_kill_completed() -> None:
    found = decide(OOM, status=Status.COMPLETED, exit_code=0, summary={"cgroup_oom_kill": 1})
    assert (
        found.sentence == "the job completed, though the kernel killed 1 of its processes for want of memory"
    )


def test_a_message_of_the_kernel_is_evidence() -> None:
    text = "Memory cgroup out of memory: oom-kill: Killed process 5 (x)"
    found = decide(
        event("kernel_message", text=text, pid=5, process="x"),
        signal="SIGKILL",
        limits=Limits(memory_bytes=MIB),
    )
    assert found.cause is Cause.OOM_CGROUP
    assert found.sentence == "the kernel killed x (pid 5) with 1 MiB for the job to use"
    assert decide(event("kernel_message", text="oom-kill: x"), signal="SIGKILL").cause is Cause.OOM_HOST
    assert decide(event("kernel_message", text="usb 1-1: new"), signal="SIGKILL").cause is Cause.KILLED_SIGNAL


def test_a_report_that_names_a_cgroup_may_be_of_the_whole_machine() -> None:
    text = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task_memcg=/job,task=x,pid=5,uid=0"
    assert decide(event("kernel_message", text=text, pid=5), signal="SIGKILL").cause is Cause.OOM_HOST
    text = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/job,task_memcg=/job,task=x,pid=5,uid=0"
    assert decide(event("kernel_message", text=text, pid=5), signal="SIGKILL").cause is Cause.OOM_CGROUP


def test_what_the_kernel_logged_of_a_crash_is_quoted() -> None:
    found = decide(event("kernel_message", text="x[5]: segfault at 0", pid=5), signal="SIGSEGV")
    assert [one.quote for one in found.evidence] == [None, "x[5]: segfault at 0"]


def test_the_victim_of_the_kernels_message_is_named_with_the_counter() -> None:
    found = decide(OOM, event("kernel_message", text="x", pid=5, process="x"), signal="SIGKILL")
    assert found.sentence == "the kernel killed x (pid 5) because the machine had no memory left"
    nameless = decide(OOM, event("kernel_message", text="x"), signal="SIGKILL")
    assert nameless.sentence == "the kernel killed a process because the machine had no memory left"


def test_a_scheduler_names_a_limit_and_the_worker_that_died() -> None:
    worker = told("worker_killed", fields={"pid": 7})
    slurm = told("oom_killed", fields={"memory": 1, "limit_bytes": 4 * MIB})
    found = decide(
        errors=(worker, slurm),
        headline={"memory_peak_bytes": Headline(value=MIB, low=1, high=1, keys=(), exact=True)},
    )
    assert found.sentence == (
        "a worker (pid 7) was killed because the job reached its memory limit of 4 MiB at 1 MiB"
    )


def test_a_kernel_report_without_numbers_is_told_without_them() -> None:
    assert decide(errors=(told("kernel_oom"),)).sentence == (
        "the kernel killed a process because the machine had no memory left"
    )
    limited = told("kernel_oom", fields={"constraint": "CONSTRAINT_MEMCG", "pid": 3})
    assert decide(errors=(limited,)).sentence == (
        "the kernel killed a process (pid 3) because the memory limit was reached"
    )
