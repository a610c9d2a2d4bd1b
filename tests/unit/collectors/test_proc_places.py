"""Ranks and roles of processes, whatever shape their tree has."""

from jobmeter.collectors import proc
from jobmeter.probes import procplace
from support.livejob import LiveJob


class Someone:
    """A process that is in no `/proc`: only its place in the tree is known."""

    def __init__(self, pid: int, ppid: int) -> None:
        self.pid = pid
        self.ppid = ppid
        self.instance = f"{pid}@1"
        self.command = "python"
        self.program = ("python", b"0")


def roles(*tree: Someone) -> dict[int, str | None]:
    """Place all of a tree, the last process first."""
    job = LiveJob()
    job.processes = {one.pid: one for one in tree}  # type: ignore[misc]  # dressed as live ones
    job.cpu_ns = 0  # type: ignore[attr-defined]  # part of a job
    source = proc.ProcSource(job, frozenset({"proc_role"}))  # type: ignore[arg-type]  # dressed as a job
    places = procplace.Places("/nowhere")
    return {one.pid: source._placed(one, places).known.role for one in reversed(tree)}  # type: ignore[arg-type]


def test_a_line_of_processes_longer_than_any_recursion_is_placed() -> None:
    first = 4_200_000
    found = roles(*(Someone(first + number, first + number - 1) for number in range(2000)))
    assert (found[first], found[first + 1], found[first + 1999]) == ("main", "worker", "worker")


def test_pids_that_name_each_other_as_parents_are_placed() -> None:
    assert set(roles(Someone(4_200_000, 4_200_001), Someone(4_200_001, 4_200_000)).values()) == {"worker"}
