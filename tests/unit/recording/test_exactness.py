"""Which totals carry a flag, and why: every comparison written out."""

import pytest

from jobmeter.recording import exactness


class FakeJob:
    def __init__(self, *, ours: bool = True, unread: bool = False) -> None:
        self.ours = ours
        self.processes = {7: FakeProcess(None if unread else (0, 0, 0, 0))}


class FakeProcess:
    def __init__(self, io: tuple[int, int, int, int] | None) -> None:
        self.io = io


class FakeWatch:
    def __init__(self, *ignorers: str) -> None:
        self.ignorers = set(ignorers)


def judge(
    summary: dict[str, float],
    *,
    job: FakeJob | None = None,
    watch: FakeWatch | None = None,
    subreaper: bool = True,
) -> dict[str, str]:
    return exactness.judge(summary, job or FakeJob(), watch or FakeWatch(), subreaper=subreaper)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "summary",
    [
        {},
        {"wait_cputime": 10.0},
        {"wait_cputime": 10.0, "cgroup_cputime": 10.01},
        {"wait_cputime": 10.0, "wait_task_clock": 10.2},
        {"wait_cputime": 10.0, "wait_task_clock": 11.5},  # stolen time, not lost children
        {"wait_cputime": 10.1, "cgroup_cputime": 10.0},
        {"wait_cputime": 0.0, "wait_task_clock": 0.09},
    ],
)
def test_a_normal_job_carries_no_flag(summary: dict[str, float]) -> None:
    assert judge(summary) == {}


def test_children_that_perf_saw_and_nobody_waited_for_make_it_a_lower_bound() -> None:
    assert judge({"wait_cputime": 10.0, "wait_task_clock": 11.7}) == {
        "wait_cputime": "perf saw more CPU time than was waited for: some children were reaped by nobody"
    }


def test_a_process_that_ignores_its_children_is_named() -> None:
    watch = FakeWatch("httpd", "cron")
    assert judge({"wait_cputime": 10.0, "wait_task_clock": 10.5}, watch=watch) == {
        "wait_cputime": "cron, httpd ignores SIGCHLD: CPU time of its children is known from perf alone"
    }
    assert judge({"wait_cputime": 10.0}, watch=watch) == {
        "wait_cputime": "cron, httpd ignores SIGCHLD: CPU time of its children is lost"
    }


def test_a_process_that_ignores_children_it_never_had_is_no_reason_for_doubt() -> None:
    assert judge({"wait_cputime": 10.0, "wait_task_clock": 10.1}, watch=FakeWatch("httpd")) == {}


def test_the_jobs_own_cgroup_needs_no_flag_on_the_sum() -> None:
    assert judge({"wait_cputime": 10.0, "cgroup_cputime": 10.4}, watch=FakeWatch("httpd")) == {}


def test_processes_that_left_the_cgroup_make_it_inexact() -> None:
    assert judge({"wait_cputime": 10.2, "cgroup_cputime": 10.0}) == {
        "cgroup_cputime": "processes left the job's cgroup"
    }


def test_an_attached_job_is_never_exact() -> None:
    assert judge({"wait_cputime": 10.0, "wait_read_bytes": 1}, job=FakeJob(ours=False)) == {
        "wait_cputime": "attached to a running job: what others reaped is not counted",
        "wait_read_bytes": "attached to a running job: what others reaped is not counted",
    }


def test_without_a_subreaper_daemons_are_lost() -> None:
    assert judge({"wait_cputime": 10.0}, subreaper=False) == {
        "wait_cputime": "daemonised processes could not be followed"
    }


def test_io_of_processes_that_still_run_and_may_not_be_read_is_doubtful() -> None:
    reason = "processes that still run belong to another user: their input and output may not be read"
    assert judge({"wait_read_bytes": 1, "wait_write_bytes": 2}, job=FakeJob(unread=True)) == {
        "wait_read_bytes": reason,
        "wait_write_bytes": reason,
    }


def test_io_of_children_that_the_cgroup_saw_and_nobody_waited_for_is_lost() -> None:
    assert judge({"wait_cputime": 5.0, "cgroup_cputime": 10.0, "wait_write_bytes": 2}) == {
        "wait_write_bytes": "a process ignored SIGCHLD: what its children read and wrote is lost"
    }
