"""What the processes of a job that stands still are waiting in, with the stacks of those that run Python.

The kernel is asked at once. Python's stacks come from py-spy where it is installed, run beside the recorder and
without pausing the job: one process after the other, each for some seconds at most, its answer taken at a later
sample. What can mislead: a stack read without pausing may be torn; where only the parent of a process may look
into it (`kernel.yama.ptrace_scope`) there is none.
"""

import os
import sys

from jobmeter.probes import command, procfs, slowtool, waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.recording.job import Job
    from jobmeter.recording.processes import Process

MOST_PROCESSES = 8
_MOST_STACKS = 3
_SPY_SECONDS = 5.0
_LONGEST_STACK = 4000
_NEVER_AGAIN = 1e9


class Scene:
    """One stall as it was found."""

    __slots__ = ("_details", "_job", "_left", "_processes", "_spy", "wall")

    def __init__(self, job: "Job", details: dict[str, object], wall: float) -> None:
        self._job = job
        self.wall = wall
        machine = os.uname().machine
        # who worked most is most likely the one that the others wait for
        chosen = sorted(job.processes.values(), key=lambda one: (-one.cpu_ns, one.pid))[:MOST_PROCESSES]
        listed = {one.pid: _described(job, one, machine) for one in chosen}
        self._processes = list(listed.values())
        self._details = details
        if len(job.processes) > len(chosen):
            self._details["more_processes"] = len(job.processes) - len(chosen)
        python = [one.pid for one in chosen if _is_python(job.paths.proc, one)]
        self._left = [listed[pid] for pid in python[:_MOST_STACKS]] if spy_path() is not None else []
        self._spy: slowtool.SlowTool | None = None

    def complete(self) -> bool:
        """Take what has arrived and ask for the next stack; True when nothing is left to wait for."""
        if self._spy is None:
            if not self._left:
                return True
            self._spy = self._ask(self._left[0])
        answer = self._spy.take()
        if answer is None and not self._spy.failures:
            return False
        self._take(answer or b"")
        return not self._left

    def close(self) -> dict[str, object]:
        """Give all that is known."""
        if self._spy is not None:
            self._take(self._spy.take() or b"")
        self._left = []
        for one in self._processes:
            if "stack" not in one and "kernel_stack" in one:
                one["stack"] = one.pop("kernel_stack")
        return {**self._details, "processes": self._processes}

    def _ask(self, process: dict[str, object]) -> slowtool.SlowTool:
        words = ["dump", "--nonblocking", "--pid", str(process["pid"])]
        tool = slowtool.SlowTool(
            spy_path() or "", words, every_seconds=_NEVER_AGAIN, timeout_seconds=_SPY_SECONDS
        )
        self._job.lend(tool)
        return tool

    def _take(self, answer: bytes) -> None:
        # above the threads stand the command line, which is the run's to tell, and the interpreter
        begin = answer.find(b"Thread ")
        if begin >= 0:
            self._left[0]["stack"] = answer[begin:].decode("utf-8", "replace")[:_LONGEST_STACK].rstrip()
        self._left = self._left[1:]
        if self._spy is not None:
            self._spy.close()
        self._spy = None


def spy_path() -> str | None:
    """Find py-spy: beside this Python, else on the path."""
    beside = os.path.join(os.path.dirname(sys.executable), "py-spy")
    return beside if os.access(beside, os.X_OK) else command.find("py-spy")


def _described(job: "Job", process: "Process", machine: str) -> dict[str, object]:
    # nobody read it again since it fell asleep: it may have been stopped meanwhile
    now = procfs.read_stat(job.paths.proc, process.pid)
    return {
        "pid": process.pid,
        "command": process.command,
        "state": process.state if now is None else now[1],
        **waiting.look(job.paths.proc, process.pid, machine),
    }


def _is_python(proc: str, process: "Process") -> bool:
    if process.command.startswith(("python", "pt_main_thread")):
        return True
    try:
        return os.path.basename(os.readlink(f"{proc}/{process.pid}/exe")).startswith("python")
    except OSError:
        return False  # gone, or another user's
