"""Who used it: CPU time goes to the name a process had when it used it."""

from jobmeter.recording.attribution import Attribution


class Seen:
    """A process as one sample sees it."""

    def __init__(
        self, instance: str, command: str, cpu_ns: int, rss_bytes: int = 0, *, moved: bool = True
    ) -> None:
        self.instance = instance
        self.command = command
        self.cpu_ns = cpu_ns
        self.rss_bytes = rss_bytes
        self.moved = moved


def take(*samples: list[Seen]) -> Attribution:
    attribution = Attribution()
    for sample in samples:
        attribution.update(sample)  # type: ignore[arg-type]  # only these parts are looked at
    return attribution


def test_time_is_added_by_name() -> None:
    attribution = take(
        [Seen("1@1", "cc1plus", 2_000_000_000, 100), Seen("2@1", "cc1plus", 1_000_000_000, 300)],
        [Seen("1@1", "cc1plus", 2_500_000_000, 50), Seen("3@1", "ld", 100_000_000, 900)],
    )
    assert attribution.records() == [
        {"command": "cc1plus", "cpu_seconds": 3.5, "peak_rss_bytes": 300, "processes": 2},
        {"command": "ld", "cpu_seconds": 0.1, "peak_rss_bytes": 900, "processes": 1},
    ]


def test_exec_changes_the_name_and_not_what_was_used_before() -> None:
    attribution = take([Seen("1@1", "sh", 1_000_000)], [Seen("1@1", "python", 501_000_000)])
    assert {row["command"]: (row["cpu_seconds"], row["processes"]) for row in attribution.records()} == {
        "sh": (0.001, 1),
        "python": (0.5, 1),
    }


def test_a_reused_pid_is_another_process() -> None:
    attribution = take([Seen("7@1", "a", 1_000_000_000)], [Seen("7@99", "a", 400_000_000)])
    assert attribution.records()[0]["cpu_seconds"] == 1.4
    assert attribution.records()[0]["processes"] == 2


def test_an_idle_process_is_not_counted_again() -> None:
    attribution = take([Seen("1@1", "a", 1_000_000_000)], [Seen("1@1", "a", 1_000_000_000, moved=False)])
    assert attribution.records() == [
        {"command": "a", "cpu_seconds": 1.0, "peak_rss_bytes": 0, "processes": 1}
    ]


def test_processes_that_are_gone_are_forgotten_and_their_time_is_kept() -> None:
    attribution = take([Seen("1@1", "a", 1_000_000_000), Seen("2@1", "b", 5)])
    attribution.forget({"2@1"})
    assert attribution._cpu_ns == {"2@1": 5}
    assert attribution._named == {"2@1": "b"}
    assert attribution.records()[0]["cpu_seconds"] == 1.0


def test_the_twenty_largest_are_told_largest_first() -> None:
    attribution = take([Seen(f"{n}@1", f"c{n:02}", n * 1_000_000_000) for n in range(30)])
    assert [row["command"] for row in attribution.records()] == [f"c{n:02}" for n in range(29, 9, -1)]


def test_what_a_job_used_before_it_was_attached_to_is_not_counted() -> None:
    attribution = Attribution()
    seen = [Seen("1@1", "python", 7_000_000_000, 500)]
    attribution.begin(seen, lambda process: process.cpu_ns)  # type: ignore[arg-type]  # as above
    attribution.update([Seen("1@1", "python", 7_250_000_000, 400), Seen("2@9", "python", 50_000_000)])  # type: ignore[list-item]  # as above
    assert attribution.records() == [
        {"command": "python", "cpu_seconds": 0.3, "peak_rss_bytes": 500, "processes": 2}
    ]
