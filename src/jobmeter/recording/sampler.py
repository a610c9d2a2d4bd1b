"""Take samples: read every source, fold, write; what breaks in a source stays in that source."""

from jobmeter import collectors
from jobmeter.aggregation import windows
from jobmeter.aggregation.summary import Summary
from jobmeter.model.measurement import Kind, Measurement, Scope
from jobmeter.recording import accounts, guard
from jobmeter.recording.attribution import Attribution
from jobmeter.runfolder import usageline, writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmeter.collectors import Reading, Source, Witness
    from jobmeter.recording.clock import Timing
    from jobmeter.recording.job import Job
    from jobmeter.recording.selection import Selection
    from jobmeter.runfolder.writer import RunFolder

_FAILURES_ALLOWED = 3
_HOST_SECONDS, _IDLE_SECONDS = 0.95, 4.95
"""However fast a job is sampled, the machine as a whole is looked at once a second; everything is looked at every
five while no process of the job runs."""

_OF_THE_JOB = ("cgroup", "netns", "proc", "wait")
"""Sources that only change when a process of the job runs, or, as memory taken away, may be told seconds later."""
_OF_THE_PROCESSES = ("proc", "wait")
"""Sources that tell what the look at the processes found."""


class Sampler:
    """Owns the sources and everything they said."""

    __slots__ = (
        "_clock",
        "_failures",
        "_folder",
        "_job",
        "_job_keys",
        "_job_window",
        "_looked_at",
        "_next_report",
        "_on_event",
        "_process_window",
        "_read_at",
        "_report_interval",
        "_said",
        "_said_gauges",
        "_sources",
        "_stamps",
        "_still",
        "_witnesses",
        "attribution",
        "definitions",
        "samples",
        "summary",
    )

    def __init__(
        self,
        job: "Job",
        folder: "RunFolder",
        selection: "Selection",
        timing: "Timing",
        on_event: "Callable[[str, dict[str, object]], None]",
    ) -> None:
        self._job = job
        self._folder = folder
        self._clock = timing.clock
        self._on_event = on_event
        self._report_interval = timing.report_interval
        self._next_report = timing.began + timing.report_interval
        self.definitions: dict[str, Measurement] = selection.definitions
        self._failures: dict[str, int] = {}
        self._sources: dict[str, Source] = {}
        self._witnesses: dict[str, Witness] = {}
        for name, keys in selection.by_collector().items():
            self._attach(name, keys)
        self._read_at = {
            name: float("-inf")
            for name, keys in selection.by_collector().items()
            if name in _OF_THE_JOB or all(self.definitions[key].scope is Scope.HOST for key in keys)
        }
        self._said: dict[str, list[Reading]] = {}
        self._said_gauges: dict[str, list[Reading]] = {}
        self._still: str | None = None
        """The line of an idle job without its times, as long as it would come out the same again."""
        self._stamps = writer.Stamps()
        self._job_window = windows.Buffer(self.definitions, self._starts_at_zero, timing.began)
        self._process_window = windows.Buffer(self.definitions, self._starts_at_zero, timing.began)
        self._job_keys = frozenset(k for k, m in self.definitions.items() if m.scope is not Scope.PROCESS)
        self.summary = Summary(self.definitions, self._starts_at_zero)
        self.attribution = Attribution()
        self.samples = 0
        self._looked_at = timing.began

    def _starts_at_zero(self, definition: Measurement) -> bool:
        return accounts.starts_at_zero(definition, self._job)

    def sample(self, *, final: bool = False) -> None:
        """Read all sources once and write what they said."""
        now = self._clock.monotonic()
        reporting = final or now >= self._next_report
        self._job.refresh(full=reporting)
        self._looked_at = self._job.looked_at(now)
        if not self._job.processes and not final:
            return  # everything ended between two looks: an empty sample says nothing
        if not self.samples and not self._job.ours:
            self._job.set_apart_earlier()
            self.attribution.begin(self._job.processes.values(), self._job.used_before_ns)
        self.attribution.update(self._job.processes.values())
        due = [name for name in self._sources if reporting or self._is_due(name, now)]
        again = None if due or self._job_window.samples else self._still
        for name, source in list(self._sources.items()):
            if name in due:
                self._read(name, source)
            else:
                self._repeat(name, fold=again is None)
        self.samples += 1
        self._process_window.samples += 1
        self._write_job_line(again, is_repeated=not due)
        if reporting:
            self._report(now)

    def _is_due(self, name: str, now: float) -> bool:
        """Say whether a source may have something new to tell."""
        if name not in self._read_at:
            return True
        if self._job.idle:
            return now >= self._read_at[name] + _IDLE_SECONDS
        return name in _OF_THE_JOB or now >= self._read_at[name] + _HOST_SECONDS

    def _repeat(self, name: str, *, fold: bool) -> None:
        """What a source of an idle job said still stands; the machine as a whole is left out."""
        if name not in _OF_THE_JOB:
            return
        readings = self._said.get(name, [])
        self._job_window.add(name, self._clock.monotonic(), readings if fold else ())
        gauges = self._said_gauges.get(name)
        if gauges is None:
            gauges = [one for one in readings if self.definitions[one[0]].kind is Kind.GAUGE]
            self._said_gauges[name] = gauges
        # a counter that stands adds nothing to its total, a gauge weighs in the mean for as long as it stands
        self.summary.add(gauges)

    def _read(self, name: str, source: "Source") -> None:
        # what is known of processes is as old as the look at them, however long this process then had to wait
        at = self._looked_at if name in _OF_THE_PROCESSES else self._clock.monotonic()
        readings = guard.attempt(lambda: list(source.read()), lambda error: self._failed(name, error))
        witness = self._witnesses.get(name)
        if witness is not None:
            guard.attempt(lambda: self._listen(witness), lambda error: self._failed(name, error))
        if readings is None:
            return
        if not self._job.processes:
            readings = [reading for reading in readings if accounts.outlives(self.definitions[reading[0]])]
        job_readings = [reading for reading in readings if reading[0] in self._job_keys]
        if name in self._read_at:
            self._read_at[name] = at
            self._note(name, job_readings)
        self._job_window.add(name, at, job_readings)
        self.summary.add(job_readings)
        if len(job_readings) < len(readings):
            self._process_window.add(name, at, [r for r in readings if r[0] not in self._job_keys])

    def _note(self, name: str, readings: "list[Reading]") -> None:
        """Remember what a source said, for as long as the job is idle."""
        if readings != self._said.get(name):
            self._said[name] = readings
            self._said_gauges.pop(name, None)
            if name in _OF_THE_JOB:
                self._still = None

    def _listen(self, witness: "Witness") -> None:
        """Write down what a source has to say besides numbers."""
        for kind, details in witness.tell():
            self._on_event(kind, details)

    def standing(self) -> dict[str, object]:
        """Say how the sources fared that keep track of it."""
        return {name: witness.standing() for name, witness in self._witnesses.items()}

    def doubts(self) -> dict[str, str]:
        """Say which keys the sources themselves would not swear to."""
        return {
            key: reason
            for witness in self._witnesses.values()
            for key, reason in witness.doubts().items()
            if key in self.definitions
        }

    def _attach(self, name: str, keys: frozenset[str]) -> None:
        source = guard.attempt(
            lambda: collectors.load(name).attach(self._job, keys), lambda error: self._failed(name, error)
        )
        if source is None:
            return
        self._sources[name] = source
        if hasattr(source, "tell"):
            self._witnesses[name] = source  # type: ignore[assignment]  # told by its names

    def _failed(self, name: str, error: str) -> None:
        self._failures[name] = self._failures.get(name, 0) + 1
        self._still = None
        if self._failures[name] == 1:
            self._on_event("source_failed", {"source": name, "error": error})
        if self._failures[name] >= _FAILURES_ALLOWED and name in self._sources:
            self._witnesses.pop(name, None)
            self._close(name, self._sources.pop(name))

    def _write_job_line(self, again: str | None, *, is_repeated: bool) -> None:
        window = self._job_window
        window.samples += 1
        folded: windows.Folded = {} if again is not None else window.fold()
        text = again or usageline.measurements(folded)
        if is_repeated and window.samples == 1:
            self._still = text
        if self._write(text, window):
            window.commit(folded)

    def _report(self, now: float) -> None:
        self._next_report = max(self._next_report + self._report_interval, now)
        window = self._process_window
        listed = windows.top_instances(_moved_only(window.fold()))
        if self._write(usageline.measurements(listed), window):
            window.commit(listed)
        alive = {process.instance for process in self._job.processes.values()}
        window.forget(alive)
        self.attribution.forget(alive)

    def _write(self, measurements: str, window: windows.Buffer) -> bool:
        if not measurements:
            return True
        stamp = self._stamps.at(self._clock.wall())
        return self._folder.usage.append_line(
            usageline.line(stamp, window.samples, window.clock(), measurements)
        )

    def close(self) -> None:
        """Give the sources back what they hold."""
        for name, source in self._sources.items():
            self._close(name, source)

    def _close(self, name: str, source: "Source") -> None:
        # one that breaks here must not cost the run its summary
        guard.attempt(
            source.close, lambda error: self._on_event("source_failed", {"source": name, "error": error})
        )


def _moved_only(folded: "windows.Folded") -> "windows.Folded":
    """Leave out processes of which only the state was seen: nothing about them moved."""
    moved = {instance for (key, instance) in folded if not key.endswith(("_state", "_stat"))}
    return {at: value for at, value in folded.items() if at[1] in moved}
