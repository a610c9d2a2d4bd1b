"""Verdicts on recorded runs: how the command ended, what the scheduler and the output say."""

from dataclasses import replace

import pytest

from jobmeter.analysis.verdict import court
from jobmeter.model.report import Cause, LogError
from jobmeter.model.run import Headline, Limits, Provenance, Status
from support.ranks import Life, job, waiting
from support.verdicts import decide, event, told

MIB = 1 << 20


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        ("OUT_OF_MEMORY", Cause.OOM_CGROUP),
        ("TIMEOUT", Cause.TIMEOUT),
        ("CANCELLED by 1000", Cause.KILLED_SIGNAL),
        ("PREEMPTED", Cause.KILLED_SIGNAL),
        ("NODE_FAIL", Cause.KILLED_SIGNAL),
        ("FAILED", Cause.UNKNOWN),
    ],
)
def test_the_schedulers_state_is_taken(state: str, cause: Cause) -> None:
    assert decide(event("scheduler_state", state=state), exit_code=1).cause is cause
    imported = Provenance(origin="sacct")
    assert decide(context={"state": state}, exit_code=1, provenance=imported).cause is cause
    assert decide(context={"slurm": {"state": state}}, provenance=imported).cause is cause


def test_a_recorded_run_that_was_stopped_is_not_the_schedulers() -> None:
    assert decide(event("timeout"), status=Status.CANCELLED, signal="SIGTERM").cause is Cause.TIMEOUT


def test_a_cancelled_record_was_cancelled() -> None:
    found = decide(status=Status.CANCELLED, provenance=Provenance(origin="sacct"))
    assert (found.cause, found.evidence[0].source) == (Cause.KILLED_SIGNAL, "sacct")


def test_a_rank_that_failed_explains_the_time_limit_the_others_met() -> None:
    failed = told("cuda_oom", ranks=(0,))
    assert decide(event("scheduler_state", state="TIMEOUT"), errors=(failed,)).cause is Cause.OOM_CUDA
    assert decide(event("timeout"), exit_code=124, errors=(failed,)).cause is Cause.OOM_CUDA


def test_the_recorders_timeout_says_after_how_long() -> None:
    found = decide(event("timeout"), signal="SIGTERM", wall_seconds=5.0)
    assert (found.cause, found.sentence) == (Cause.TIMEOUT, "the job was stopped at its time limit after 5 s")
    stopped = told("interrupted")
    assert decide(event("timeout"), errors=(stopped,)).cause is Cause.TIMEOUT


@pytest.mark.parametrize(
    ("wall_seconds", "words"),
    [(5.02, "of 5 s"), (14.2, "of 5 s, and ended after 14.2 s"), (None, "of 5 s")],
)
def test_the_recorders_timeout_says_what_the_limit_was(wall_seconds: float | None, words: str) -> None:
    context = {"options": {"timeout": 5.0}}
    found = decide(event("timeout"), signal="SIGTERM", wall_seconds=wall_seconds, context=context)
    assert found.sentence == f"the job was stopped at its time limit {words}"


def test_the_program_timeout_is_known_by_its_exit_status() -> None:
    assert decide(command=("/usr/bin/timeout", "5", "x"), exit_code=124).cause is Cause.TIMEOUT
    assert decide(exit_code=124).cause is Cause.UNKNOWN
    assert decide(command=(), exit_code=124).cause is Cause.UNKNOWN


def test_the_schedulers_line_gives_the_limit() -> None:
    limit = told("time_limit", fields={"timeout_seconds": 3600.0})
    assert decide(errors=(limit,)).sentence == "the scheduler ended the job at its time limit of 1 h 00 min"


def test_gpu_memory_is_told_with_its_numbers() -> None:
    fields = {
        "gpu": 1,
        "tried_bytes": 2 * MIB,
        "total_bytes": 80 * MIB,
        "free_bytes": MIB,
        "other_process_bytes": 70 * MIB,
    }
    later = told("nccl_timeout", ranks=(0, 2))
    found = decide(exit_code=1, errors=(told("cuda_oom", fields=fields), later))
    assert found.sentence == (
        "GPU 1 ran out of memory: 2 MiB more were asked for, it has 80 MiB, 1 MiB were free,"
        " other processes held 70 MiB"
    )
    assert decide(errors=(told("cuda_oom"),)).sentence == "the GPU ran out of memory"


def test_a_worker_is_told_with_its_signal() -> None:
    def worker(**fields: object) -> str:
        return decide(errors=(told("worker_killed", fields=fields),)).sentence

    assert worker(pid=7, signal="Killed") == (
        "a worker process (pid 7) was killed by SIGKILL, most likely for want of memory, which nothing here proves"
    )
    assert worker(shared_memory=1, signal="Bus error") == (
        "a worker process was killed (Bus error): the shared memory in /dev/shm was used up"
    )
    assert worker() == "a worker process died"


def test_who_never_came_is_named_where_it_is_known() -> None:
    def timeout(seq: int | None, *ranks: int) -> LogError:
        fields: dict[str, object] = {"op": "ALLREDUCE", "elapsed_seconds": 600.0} | (
            {} if seq is None else {"seq": seq}
        )
        return told("nccl_timeout", ranks=ranks, fields=fields)

    def sentence(*errors: LogError, **facts: object) -> str:
        return decide(errors=errors, **facts).sentence

    begin = "the ALLREDUCE (number 5) did not come together within 10 min 00 s"
    assert sentence(timeout(5, 0, 1, 3), world_size=4) == f"{begin}: rank 2 never came, the others waited"
    assert sentence(timeout(5, 0), ranks=(0, 1, 2)) == f"{begin}: ranks 1, 2 never came, the others waited"
    assert sentence(timeout(5, 0, 1)) == f"{begin}: waited for by ranks 0, 1"
    assert sentence(timeout(5, 0), timeout(4, 1)) == f"{begin}: rank 1 was still at number 4"
    assert sentence(timeout(5, 0), timeout(4)) == begin
    assert sentence(timeout(None)) == "the ALLREDUCE did not come together within 10 min 00 s"
    assert sentence(told("nccl_timeout")) == "a collective operation did not come together in time"


def test_a_rank_with_a_recorder_of_its_own_that_never_came_is_named_with_its_end() -> None:
    waited = Life(steps=40, status=Status.FAILED, exit_code=1, lived_on=600.0)
    killed = Life(steps=40, status=Status.KILLED, signal="SIGKILL")
    view = job(waited, killed, waited, errors=(waiting(0, 2),))
    found = court.decide(view)
    begin = "a collective operation did not come together in time"
    assert found.sentence == f"{begin}: rank 1, which told step 40 last, never came, the others waited"
    assert [(one.source, one.rank, one.value) for one in found.evidence] == [
        ("log", 0, None),
        ("exit status", None, 1),
        ("exit status", 1, "SIGKILL"),
    ]
    silent = court.decide(job(waited, Life(steps=0, status=Status.FAILED, exit_code=1), errors=(waiting(0),)))
    assert silent.sentence == f"{begin}: rank 1 never came, the others waited"
    own = court.decide(replace(view, run=view.ranks[1].run))
    assert [one.value for one in own.evidence] == [None, "SIGKILL"]
    several = job(waited, Life(steps=40), Life(steps=40), errors=(waiting(0),))
    assert court.decide(several).sentence == f"{begin}: ranks 1, 2 never came, the others waited"


def test_a_lost_connection_alone_is_told_with_doubt() -> None:
    found = decide(errors=(told("nccl_error", "NCCL error", ranks=tuple(range(10))),))
    assert (found.cause, found.confidence) == (Cause.NCCL_TIMEOUT, 0.6)
    assert found.sentence == (
        "the ranks lost their connection on ranks 0, 1, 2, 3, 4, 5, 6, 7, ...: NCCL error"
    )


def test_a_full_disk_is_told_with_its_path() -> None:
    assert (
        decide(errors=(told("disk_full", fields={"path": "/a"}),)).sentence
        == "the disk was full while writing /a"
    )
    assert decide(errors=(told("disk_full", fields={"quota": 1}),)).sentence == "the disk quota was used up"


def test_limits_of_the_system_are_told_by_signal_or_by_words() -> None:
    assert decide(signal="SIGXCPU").sentence == "the job used up its CPU time (ulimit -t)"
    assert decide(exit_code=153).cause is Cause.RESOURCE_LIMIT
    assert decide(errors=(told("resource_limit", fields={"limit": "open_files"}),)).sentence == (
        "the job had as many files open as it may (ulimit -n)"
    )
    assert decide(errors=(told("resource_limit"),)).sentence == "the job reached a limit of the system"


def held(value: int) -> Headline:
    return Headline(value=value, low=value, high=value, keys=("cgroup_mem_peak",), exact=True)


def test_refused_memory_is_told_with_its_size() -> None:
    assert (
        decide(errors=(told("cpu_oom", fields={"tried_bytes": MIB}),)).sentence
        == "the host refused 1 MiB to the job"
    )
    assert decide(errors=(told("cpu_oom"),)).sentence == "the host refused more memory to the job"
    little = {"limits": Limits(memory_bytes=1024 * MIB), "headline": {"memory_peak_bytes": held(300 * MIB)}}
    assert decide(errors=(told("cpu_oom"),), **little).sentence == (
        "more memory was refused to the job at 300 MiB of the 1 GiB the job may use: it asked for very much at once, "
        "or has a limit of its own (ulimit -v)"
    )
    assert decide(errors=(told("cpu_oom", fields={"tried_bytes": 2048 * MIB}),), **little).sentence == (
        "the job asked for 2 GiB at once, more than the 1 GiB it may use"
    )
    much = {**little, "headline": {"memory_peak_bytes": held(900 * MIB)}}
    assert decide(errors=(told("cpu_oom"),), **much).sentence == (
        "the host refused more memory to the job at 900 MiB of the 1 GiB the job may use"
    )
    assert "Java heap space" in decide(errors=(told("cpu_oom", fields={"heap": "Java heap space"}),)).sentence


def test_what_is_missing_is_named() -> None:
    assert decide(errors=(told("import_error", fields={"missing": "torch"}),)).sentence == (
        "there is no torch, or not the right one"
    )
    assert decide(errors=(told("import_error", "ImportError: x"),)).sentence == "ImportError: x"
    assert (
        decide(errors=(told("config_error", "bad option"),)).sentence
        == "the job refused its settings: bad option"
    )


def test_ctrl_c_is_known_by_the_signal_and_by_the_output() -> None:
    assert decide(signal="SIGINT").confidence == 0.95
    assert decide(exit_code=130).cause is Cause.INTERRUPTED
    assert decide(exit_code=1, errors=(told("interrupted"),)).cause is Cause.INTERRUPTED
    assert decide(signal="SIGINT", errors=(told("exception"),)).cause is Cause.INTERRUPTED
    assert decide(errors=(told("cancelled", fields={"reason": "interrupt"}),)).cause is Cause.INTERRUPTED


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"signal": "SIGTERM"}, "SIGTERM from outside ended the job"),
        ({"signal": "SIGKILL"}, "SIGKILL from outside ended the job"),
        (
            {"signal": "SIGKILL", "summary": {"cgroup_oom_kill": 0}},
            "SIGKILL from outside ended the job; the kernel counted no kill for want of memory",
        ),
        (
            {"signal": "SIGSEGV"},
            "the job crashed with SIGSEGV: it used memory that is not its own (a bug in native code)",
        ),
        ({"exit_code": 134}, "the job crashed with SIGABRT: it aborted itself"),
    ],
)
def test_a_signal_is_told_with_what_it_means(facts: dict[str, object], sentence: str) -> None:
    found = decide(**facts)
    assert (found.cause, found.sentence) == (Cause.KILLED_SIGNAL, sentence)


def test_a_signal_beside_an_exception_quotes_it() -> None:
    found = decide(signal="SIGTERM", errors=(told("exception", "ValueError: x"),))
    assert found.cause is Cause.KILLED_SIGNAL
    assert found.evidence[-1].quote == "ValueError: x"
    assert decide(exit_code=143, errors=(told("exception", "ValueError: x"),)).cause is Cause.EXCEPTION
    assert decide(signal="SIGTERM", errors=(told("assertion"),)).cause is Cause.EXCEPTION


def test_an_order_to_stop_is_told_with_its_reason() -> None:
    def cancelled(**fields: object) -> str:
        return decide(errors=(told("cancelled", fields=fields),)).sentence

    assert cancelled() == "the job was cancelled; no time limit is named, so somebody did it"
    assert cancelled(job="7").startswith("Slurm ended the job: at its time limit, or because somebody")
    assert cancelled(reason="preemption") == "the job was cancelled to make room for another one"
    assert cancelled(reason="owner") == "the job was cancelled (owner)"


def test_a_crash_or_a_kill_in_the_output_alone_is_told() -> None:
    assert decide(errors=(told("segfault", fields={"signal": "SIGSEGV"}),)).sentence.startswith(
        "a process crashed with SIGSEGV"
    )
    found = decide(errors=(told("oom_killed"),))
    assert (found.cause, found.confidence) == (Cause.KILLED_SIGNAL, 0.6)


def test_an_exception_is_told_in_its_own_words() -> None:
    found = decide(
        exit_code=1, errors=(told("exception", "ValueError: x\nmore", ranks=(2,)), told("child_failed"))
    )
    assert found.sentence == "the job failed on rank 2: ValueError: x"
    assert [one.sentence for one in found.evidence] == [
        "the job says so",
        "what came of it",
        "the command ended with exit status 1",
    ]
    assert decide(errors=(told("gpu_fault", "Xid 79"),)).sentence == "a GPU failed: Xid 79"
    long = decide(errors=(told("exception", "x" * 400),)).evidence[0].quote
    assert long is not None
    assert len(long) == 300


def test_a_silent_child_is_named() -> None:
    failed = told("child_failed", fields={"rank": 2, "exit_code": -9})
    assert decide(errors=(failed,)).sentence == (
        "rank 2 failed first with exit status -9; its own words are not in the output"
    )
    assert decide(errors=(told("child_failed"),)).sentence.startswith("a process failed first;")


def test_the_last_error_line_of_a_failed_job_is_better_than_nothing() -> None:
    lines = (told(None, "ERROR: first"), told(None, "ERROR: disk on fire"), told(None, "x", level="WARNING"))
    found = decide(exit_code=1, errors=lines)
    assert (found.cause, found.confidence) == (Cause.EXCEPTION, 0.6)
    assert found.sentence == "the job failed; the last error it logged: ERROR: disk on fire"
    assert decide(errors=lines).cause is Cause.UNKNOWN


def test_nothing_is_nobodys_fault() -> None:
    found = decide(exit_code=1)
    assert (found.cause, found.confidence) == (Cause.UNKNOWN, 0.0)
    assert found.sentence == "the command ended with exit status 1, and nothing says why"
    assert decide(status=Status.LOST).sentence == (
        "the recorder vanished before the job ended, and nothing says why"
    )
    assert decide(status=Status.RUNNING).sentence == "the run still goes on"


def test_a_completed_run_says_how_sure_that_is() -> None:
    assert decide(status=Status.COMPLETED, exit_code=0).confidence == 0.99
    assert decide(status=Status.COMPLETED, provenance=Provenance(origin="log")).confidence == 0.8
    found = decide(status=Status.COMPLETED, exit_code=0, errors=(told("exception", "ValueError: x"),))
    assert (found.confidence, found.sentence) == (
        0.8,
        "the job completed, though its output says: ValueError: x",
    )


def test_a_log_that_shows_its_end_and_then_a_failure_failed() -> None:
    assert decide(status=Status.COMPLETED, errors=(told("disk_full"),)).cause is Cause.DISK_FULL


def test_a_command_that_is_not_there_is_named() -> None:
    found = decide(command=("nosuchcmd", "-v"), exit_code=127, wall_seconds=0.0)
    assert (found.cause, found.confidence) == (Cause.IMPORT_ERROR, 0.95)
    assert found.sentence == "the command nosuchcmd was not found"


def test_an_exit_status_of_the_shells_says_what_went_wrong_inside() -> None:
    missing = decide(exit_code=127, wall_seconds=2.0)
    assert missing.sentence == "a command that the job needs was not found"
    assert (missing.cause, missing.confidence) == (Cause.IMPORT_ERROR, 0.7)
    assert decide(exit_code=126, wall_seconds=2.0).sentence == (
        "a command that the job needs cannot be executed: it is no program, or not allowed to run"
    )
    assert decide(exit_code=3).cause is Cause.UNKNOWN


def test_what_is_known_by_a_log_or_by_an_account_is_told_as_such() -> None:
    log, account = Provenance(origin="log"), Provenance(origin="sacct")
    failed, well = {"slurm": {"state": "FAILED"}}, {"slurm": {"state": "COMPLETED"}}
    assert decide(provenance=log).sentence == "the output just ends, and nothing says why"
    assert decide(provenance=account).sentence == "the imported record tells no end, and nothing says why"
    assert decide(provenance=account, context=failed).sentence == (
        "the imported record says FAILED, and nothing says why"
    )
    done = [
        decide(status=Status.COMPLETED, provenance=log),
        decide(status=Status.COMPLETED, provenance=account, context=well),
        decide(status=Status.COMPLETED, provenance=account),
    ]
    assert [one.evidence[0].sentence for one in done] == [
        "the output shows that the job came to its end",
        "the imported record says COMPLETED",
        "the imported record came to its end",
    ]


def test_a_step_that_ran_out_of_memory_explains_why_its_job_was_cancelled() -> None:
    steps = [{"step": "batch", "state": "OUT_OF_MEMORY"}, {"step": "extern", "state": "COMPLETED"}]
    account = {"slurm": {"state": "CANCELLED by 2000886", "steps": steps}}
    found = decide(status=Status.KILLED, context=account, provenance=Provenance(origin="sacct"))
    assert found.cause is Cause.OOM_CGROUP
    odd = {"slurm": {"state": "TIMEOUT", "steps": ["batch", {"state": None}]}}
    assert decide(context=odd, provenance=Provenance(origin="sacct")).cause is Cause.TIMEOUT
