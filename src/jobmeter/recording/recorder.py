"""Turns what happens to the job into records: context, samples, events, output index, the end."""

from jobmeter.recording import guard
from jobmeter.recording.outcome import Outcome, Records
from jobmeter.runfolder import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.recording.accounts import Accounts
    from jobmeter.recording.capture import Channel
    from jobmeter.recording.capture import Plan as Outputs
    from jobmeter.recording.clock import Timing
    from jobmeter.recording.job import Job
    from jobmeter.recording.sampler import Sampler
    from jobmeter.recording.selection import Selection
    from jobmeter.recording.setup import Plan
    from jobmeter.recording.stillness import Stillness
    from jobmeter.recording.supervise import Ending
    from jobmeter.recording.watch import Watch

    Record = dict[str, object]

_INDEX_SECONDS = 0.1
_CLOCK_STEP_SECONDS = 2.0
_TRAINING_SECONDS = 10.0
"""A job that ends sooner is not asked for checkpoints."""


class Recorder:
    """Writes one run."""

    __slots__ = (
        "_clock",
        "_context",
        "_indexed_at",
        "_job",
        "_offset",
        "_outputs",
        "_sampler",
        "_stillness",
        "_timing",
        "_watch",
        "plan",
    )

    def __init__(self, plan: "Plan", job: "Job", outputs: "Outputs", timing: "Timing") -> None:
        self.plan = plan
        self._job = job
        self._outputs = outputs
        self._timing = timing
        self._clock = timing.clock
        self._offset = self._clock.wall() - self._clock.monotonic()
        self._indexed_at = 0.0
        self._context: Record = {}
        self._sampler: Sampler | None = None
        self._watch: Watch | None = None
        self._stillness: Stillness | None = None

    def begin_sampling(self) -> int | None:
        """Bring in the collectors, now that the job runs and is worth it; give what polls when memory is short."""
        return guard.attempt(self._begin_sampling, self._broken)

    def _broken(self, error: str) -> None:
        """Recording itself failed: say so once, and stay with the job all the same."""
        self._sampler = None
        self.event("source_failed", {"source": "recorder", "error": error})

    def _begin_sampling(self) -> int | None:
        from jobmeter.probes import pressure
        from jobmeter.recording import selection, stillness, watch

        self.plan.folder.hold_room()
        self._job.gpus = self.plan.options.gpus
        chosen = self.plan.selection or selection.default(self.plan.paths)
        aitk = self.plan.options.aitk
        if aitk is not None and not aitk.monitoring["track_per_process"]:
            chosen = chosen.without_processes()
        self._sampler = self._make_sampler(chosen)
        self._write_context(chosen)
        self._watch = watch.Watch(
            self._job, self._sampler, self._context, self.plan.options.on_memory, self.event
        )
        self._stillness = stillness.Stillness(
            self._job, self._sampler.summary, self.plan.options.stall_seconds, self.event
        )
        if self.plan.own_cgroup is not None:
            from jobmeter.probes import cgroupfs

            cgroupfs.sweep(self.plan.paths, self.plan.own_cgroup.outer)
        # stalled 0.2 s within 2 s: the shortest window an ordinary user may ask for
        return pressure.open_trigger(f"{self.plan.paths.proc}/pressure/memory", 200_000, 2_000_000)

    def _make_sampler(self, chosen: "Selection") -> "Sampler":
        from jobmeter.recording.sampler import Sampler

        return Sampler(
            self._job,
            self.plan.folder,
            chosen,
            self._timing,
            self.event,
        )

    def _write_context(self, chosen: "Selection | Accounts") -> None:
        from jobmeter.recording import context

        self._context = context.build(self.plan, self._job, self._outputs, chosen, self._clock)
        self.plan.folder.run.append(self._context)

    def sample(self) -> None:
        """Take one sample and look at what it means."""
        if self._sampler is not None:
            guard.attempt(self._take_sample, self._broken)
        self._look_at_build(final=False)

    def _look_at_build(self, *, final: bool) -> None:
        build = self.plan.build_stats
        if build is not None:
            guard.attempt(lambda: build.look(final=final), self._build_unseen)

    def _build_unseen(self, error: str) -> None:
        self.event("source_failed", {"source": "build_stats", "error": error})

    def print_build_stats(self) -> None:
        """Put the samples of a build behind all that the job wrote."""
        if self.plan.build_stats is not None:
            guard.attempt(self.plan.build_stats.finish, self._build_unseen)

    def _take_sample(self) -> None:
        if self._sampler is None:
            return
        self._sampler.sample()
        if self._watch is not None:
            self._watch.look()
        if self._stillness is not None:
            self._stillness.look(self._clock.monotonic(), self._clock.wall())
        self._index_seen()
        self._index_files()
        offset = self._clock.wall() - self._clock.monotonic()
        if abs(offset - self._offset) > _CLOCK_STEP_SECONDS:
            self.event("clock_step", {"seconds": round(offset - self._offset, 3)})
            self._offset = offset

    def event(self, kind: str, details: "Record", at: float | None = None) -> None:
        """Write down that something happened, with the measurements of that moment unless it is past."""
        stamp = writer.timestamp(self._clock.wall() if at is None else at)
        record: Record = {"timestamp": stamp, "type": kind, "details": details}
        if self._sampler is not None and at is None:
            known = {key: self._sampler.summary.latest(key) for key in _EVENT_KEYS}
            record["measurements"] = {key: value for key, value in known.items() if value is not None}
        self.plan.folder.events.append(record)

    def index_output(self, channel: "Channel") -> None:
        """Note when output arrived; what comes within a tenth of a second has one time, that of its last byte."""
        now = self._clock.wall()
        if channel.seen != channel.indexed and now - channel.arrived >= _INDEX_SECONDS:
            self._index_seen()
        channel.seen, channel.arrived = channel.captured, now
        if abs(now - self._indexed_at) >= _INDEX_SECONDS:
            self._indexed_at = now
            self._index_seen()

    def _index_seen(self) -> None:
        """Write the times of all that was seen and not yet noted, in their order."""
        noted = [channel for channel in self._outputs.channels if channel.seen != channel.indexed]
        for channel in sorted(noted, key=lambda one: one.arrived):
            channel.indexed = channel.seen
            self._index(channel.stream, channel.seen, channel.arrived)

    def _index_files(self) -> None:
        for file in self._outputs.inherited:
            position = file.position()
            if position != file.indexed:
                file.indexed = position
                self._index(file.stream, position, self._clock.wall())

    def _index(self, stream: str, offset: int, arrived: float) -> None:
        stamp = writer.timestamp(arrived)
        self.plan.folder.index.append_line(f'["{stream}", {offset}, "{stamp}"]')

    def end(self, ending: "Ending", *, children_left: bool, known: "Record | None" = None) -> Outcome:
        """Take the last look, write the end, and give the caller what it needs.

        `known` overrides what the ending says, where the job was not ours to wait for.
        """
        self._look_at_build(final=True)
        ended = guard.attempt(
            lambda: self._write_end(ending, children_left=children_left, known=known or {}), self._broken
        )
        self.plan.folder.close()
        self._job.close()
        return ended or Outcome(ending.exit_code, self.plan.folder.path, None)

    def _write_end(self, ending: "Ending", *, children_left: bool, known: "Record") -> Outcome:
        from jobmeter.recording import report

        last_look = self._accounts if self._sampler is None and not children_left else self._last_sample
        facts = guard.attempt(lambda: last_look(children_left), self._broken) or {"samples": 0, "summary": {}}
        self.index_rest()
        guard.attempt(self._note_checkpoints, self._broken)
        guard.attempt(lambda: self._note_kernel_log(ending), self._broken)
        facts.update(_present("outputs", guard.attempt(self._outputs.records_at_end, self._broken)))
        facts.update(_present("dropped", {**self.plan.folder.dropped(), **self._lost_output()}))
        headlines = report.headlines_of(facts)
        end = report.end_record(ending, began=self._timing.began, state=report.status(ending), facts=facts)
        end.update(known)
        self.plan.folder.release_room()
        self.plan.folder.run.append(end)
        start = self.plan.start
        self.plan.folder.write_info(
            report.info(start, self._context, end, headlines, self.plan.folder.path or "")
        )
        records = Records(start=start, context=self._context, end=end, headlines=headlines)
        return Outcome(ending.exit_code, self.plan.folder.path, records)

    def _accounts(self, _children_left: bool) -> "Record":
        """Read the totals once: the job ended before it was worth a sample."""
        from jobmeter.recording.accounts import Accounts

        chosen = self.plan.selection
        accounts = Accounts(self._job, None if chosen is None else chosen.definitions)
        self._write_context(accounts)
        return {"samples": 0, "summary": accounts.summary}

    def _last_sample(self, children_left: bool) -> "Record":
        from jobmeter.recording import exactness

        if self._sampler is None:
            self._begin_sampling()
        sampler = self._sampler
        if sampler is None:
            raise RuntimeError("sampling was just begun")
        sampler.sample(final=True)
        if self._watch is not None:
            self._watch.look()
        if self._stillness is not None:
            guard.attempt(self._stillness.close, self._broken)
        left = self._left_behind() if children_left else []
        sampler.close()
        summary = sampler.summary.values()
        inexact = exactness.judge(summary, self._job, self._watch, subreaper=self.plan.subreaper)
        inexact.update(guard.attempt(sampler.doubts, self._broken) or {})
        standing = guard.attempt(sampler.standing, self._broken)
        return {
            "samples": sampler.samples,
            "summary": summary,
            **_present("by_command", sampler.attribution.records()),
            **_present("processes_left", left),
            **_present("inexact", inexact),
            **_present("sources", standing),
        }

    def _left_behind(self) -> list["Record"]:
        left: list[Record] = [
            {"pid": process.pid, "command": process.command} for process in self._job.processes.values()
        ]
        if left:
            self.event(
                "children_left",
                {"count": len(left), "commands": sorted({str(one["command"]) for one in left})},
            )
        return left

    def _note_checkpoints(self) -> None:
        """Write down what a job that may have trained left on disk."""
        lasted = self._clock.monotonic() - self._timing.began
        cwd, command = self.plan.start.get("cwd"), self.plan.start.get("command")
        if lasted < _TRAINING_SECONDS or not isinstance(cwd, str) or not isinstance(command, list):
            return
        from jobmeter.recording import checkpoints

        for found in checkpoints.find(checkpoints.roots(command, cwd), self._clock.wall() - lasted):
            self.event("checkpoint", found.details(), at=found.written_at)

    def _note_kernel_log(self, ending: "Ending") -> None:
        """Write down what the kernel logged of a job that it may have killed."""
        was_killed = ending.exit_code in _KILLED_CODES or (self._watch is not None and self._watch.saw_kill)
        if not was_killed:
            return
        from jobmeter.probes import kmsg

        own = self._job.own_cgroup
        pids = (self._job.pid, *self._job.processes)
        since_boot = self._clock.wall() - self._clock.monotonic()
        for line in kmsg.about(pids, None if own is None else own.name, self._timing.began):
            details: Record = {"text": line.text, "pid": line.pid, **_present("process", line.process)}
            self.event("kernel_message", details, at=since_boot + line.seconds)

    def index_rest(self) -> None:
        """Note all that has arrived: nothing more is waited for."""
        self._index_seen()
        for channel in self._outputs.channels:
            channel.seen, channel.arrived = channel.captured, self._clock.wall()
        self._index_seen()
        self._index_files()

    def _lost_output(self) -> dict[str, int]:
        return {f"{channel.stream} bytes": channel.lost for channel in self._outputs.channels if channel.lost}


_KILLED_CODES = frozenset(128 + number for number in (4, 5, 6, 7, 8, 9, 11))
"""What a crash or a SIGKILL leaves: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV."""
_EVENT_KEYS = (
    "cgroup_mem_unreclaimable",
    "cgroup_mem_current",
    "proc_pss_total",
    "proc_rss_total",
    "proc_count",
    "nvml_mem_used_total",
    "nvml_proc_mem_total",
    "wait_cputime",
    "host_mem_available",
)


def _present(key: str, value: object) -> "Record":
    """A fact that is empty is left out."""
    return {key: value} if value else {}
