"""What processes used together."""

from jobmeter.analysis import shares
from jobmeter.analysis.shares import Share
from jobmeter.model.view import Process

MIB = 1 << 20


def process(pid: int, first: float | None, last: float | None, **known: object) -> Process:
    return Process(instance=f"{pid}@1", pid=pid, first_seen=first, last_seen=last, **known)  # type: ignore[arg-type]


def test_processes_that_followed_one_another_do_not_add_up() -> None:
    workers = [
        process(pid, 10.0 * pid, 10.0 * pid + 9, peak_rss_bytes=300 * MIB, cpu_seconds=1.5)
        for pid in range(4)
    ]
    assert shares.share(workers) == Share(processes=4, cpu_seconds=6.0, memory_peak_bytes=300 * MIB)


def test_processes_of_one_moment_do() -> None:
    workers = [process(1, 5.0, 5.0, peak_rss_bytes=100), process(2, 5.0, 9.0, peak_rss_bytes=50)]
    assert shares.share(workers).memory_peak_bytes == 150


def test_what_was_not_measured_is_absent() -> None:
    assert shares.share([process(1, None, None, peak_rss_bytes=7)]) == Share(processes=1)
    assert shares.share([]) == Share(processes=0)


def test_processes_are_counted_while_they_live_together() -> None:
    epochs = [process(pid, 10.0 * (pid // 2), 10.0 * (pid // 2) + 10) for pid in range(8)]
    assert shares.most_at_once(epochs) == 2
    assert shares.most_at_once([process(1, 0.0, 9.0), process(2, 5.0, 20.0), process(3, 19.0, 30.0)]) == 2


def test_processes_that_were_seen_once_or_never_live_alone() -> None:
    assert shares.most_at_once([process(1, 5.0, 5.0), process(2, None, 9.0), process(3, 1.0, None)]) == 1
    assert shares.most_at_once([]) == 0


def test_a_training_has_its_loop_and_its_workers_apart() -> None:
    found = shares.by_role(
        [
            process(1, 0.0, 9.0, role="main", cpu_seconds=4.0, peak_rss_bytes=200),
            process(2, 1.0, 9.0, role="worker", cpu_seconds=1.0, peak_rss_bytes=80),
            process(3, 1.0, 9.0, role="worker", cpu_seconds=2.0, peak_rss_bytes=90),
            process(4, 1.0, 9.0, cpu_seconds=50.0, peak_rss_bytes=900),
        ]
    )
    assert found == {
        "main": Share(processes=1, cpu_seconds=4.0, memory_peak_bytes=200),
        "worker": Share(processes=2, cpu_seconds=3.0, memory_peak_bytes=170),
    }


def test_a_job_without_workers_has_one_part_only() -> None:
    assert shares.by_role([process(1, 0.0, 1.0, role="main"), process(2, 0.0, 1.0, role="other")]) == {}
