"""Notices that a job stands still, and has its processes looked at while they do.

Still means next to no CPU, no reading or writing and no GPU, for `--stall-seconds`. While a job works this
adds up what is known of it already; what looks at processes is imported when there is something to look at.
Each stall is told once, as event `stall`, and its end as `stall_over`. What can mislead: a job that waits for
a remote service stands still too, and one that never worked (`sleep`) is told as such.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmeter.aggregation.summary import Summary
    from jobmeter.recording.job import Job
    from jobmeter.recording.scene import Scene

    Tell = Callable[[str, dict[str, object], float], None]

_CORES, _CPU_SECONDS = 0.02, 0.05
_BYTES_PER_SECOND, _BYTES = 16384, 65536
_WINDOW_SECONDS = 5.0
"""A heartbeat uses that much at most: so much a second and so much at once, looked at over so long."""
_GPU_PERCENT = 2.0
_GPU_KEYS = ("nvml_util", "nvsmi_util", "rocm_util", "apple_util")
_WORKED_SECONDS = 2.0
"""Of CPU time: who used less before it stood still had not begun."""
_MOST_STALLS = 50
"""A job that pauses again and again is not told for ever."""


class Stillness:
    """Compares what the job used with what it had used some seconds before."""

    __slots__ = (
        "_bytes",
        "_cpu_ns",
        "_cpu_ns_before",
        "_job",
        "_patience",
        "_scene",
        "_since",
        "_stalls",
        "_summary",
        "_tell",
        "_told",
        "_window_at",
    )

    def __init__(self, job: "Job", summary: "Summary", patience_seconds: float, tell: "Tell") -> None:
        self._job = job
        self._summary = summary
        self._patience = patience_seconds
        self._tell = tell
        self._since: float | None = None
        self._window_at = 0.0
        self._cpu_ns = self._bytes = self._cpu_ns_before = 0
        self._told = False
        self._stalls = 0
        self._scene: Scene | None = None

    def look(self, now: float, wall: float) -> None:
        """Check the newest sample; `now` is of a clock that never steps."""
        if self._since is None or self._worked(now - self._window_at):
            self._moved(now, wall)
            return
        if now - self._window_at >= _WINDOW_SECONDS:
            self._open_window(now)
        if not self._told and self._stalls < _MOST_STALLS and now - self._since >= self._patience:
            self._told = True
            self._stalls += 1
            self._begin_scene(now - self._since, wall)
        if self._scene is not None and self._scene.complete():
            self._write_scene()

    def close(self) -> None:
        """Tell what is known of a stall that the job did not leave."""
        if self._scene is not None:
            self._write_scene()

    def _worked(self, seconds: float) -> bool:
        if not self._job.idle:
            if self._job.cpu_ns - self._cpu_ns > 1e9 * (_CPU_SECONDS + _CORES * seconds):
                return True
            if self._transferred() - self._bytes > _BYTES + _BYTES_PER_SECOND * seconds:
                return True
        return any((self._summary.latest(key) or 0.0) > _GPU_PERCENT for key in _GPU_KEYS)

    def _transferred(self) -> int:
        return sum(self._job.io() or (0,))

    def _moved(self, now: float, wall: float) -> None:
        if self._told and self._since is not None:
            self.close()
            self._tell("stall_over", {"seconds": round(now - self._since, 1)}, wall)
        self._told = False
        self._since = now
        self._open_window(now)
        self._cpu_ns_before = self._cpu_ns

    def _open_window(self, now: float) -> None:
        self._window_at, self._cpu_ns, self._bytes = now, self._job.cpu_ns, self._transferred()

    def _begin_scene(self, seconds: float, wall: float) -> None:
        from jobmeter.recording.scene import Scene

        cpu_seconds = self._cpu_ns_before / 1e9
        details: dict[str, object] = {
            "seconds": round(seconds, 1),
            "worked": cpu_seconds >= _WORKED_SECONDS,
            "cpu_seconds_before": round(cpu_seconds, 2),
        }
        self._scene = Scene(self._job, details, wall)

    def _write_scene(self) -> None:
        scene, self._scene = self._scene, None
        if scene is not None:
            self._tell("stall", scene.close(), scene.wall)
