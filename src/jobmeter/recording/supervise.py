"""The event loop of one recording: reap, relay, forward signals, sample on time, notice the end."""

import _signal
import os
import select

from jobmeter.config import signals as signal_names
from jobmeter.recording.signals import ESCALATION, Inbox
from jobmeter.recording.terminal import STOPPERS, Terminal, set_window_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.recording.capture import Channel, Plan
    from jobmeter.recording.clock import Timing
    from jobmeter.recording.job import Job
    from jobmeter.recording.recorder import Recorder

_WAIT_FLAGS = os.WNOHANG | os.WUNTRACED | os.WCONTINUED
_GRACE_SECONDS = 10.0
_NOBODY_TOLD = 125


class Ending:
    """How the job ended."""

    __slots__ = ("at", "forwarded", "from_terminal", "status", "timed_out", "wall")

    def __init__(self, status: int, at: float, wall: float, *, forwarded: list[int], timed_out: bool) -> None:
        self.status = status
        self.at = at
        self.wall = wall
        self.forwarded = forwarded
        self.timed_out = timed_out
        self.from_terminal = False
        """Whether a key at the terminal (Ctrl-C, Ctrl-\\) ended it."""

    @property
    def signal(self) -> int | None:
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else None

    @property
    def exit_code(self) -> int:
        """The code a shell would report, 124 after a timeout."""
        if self.timed_out:
            return 124
        return 128 + os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else os.WEXITSTATUS(self.status)


class Supervisor:
    """Stays with the job until it ends."""

    __slots__ = (
        "_cadence",
        "_clock",
        "_deadline",
        "_forwarded",
        "_gave_up",
        "_inbox",
        "_interrupts",
        "_job",
        "_kill_at",
        "_outputs",
        "_poll",
        "_pressure",
        "_recorder",
        "_terminal",
        "_timed_out",
        "children_left",
        "ending",
        "paused",
    )

    def __init__(
        self,
        job: "Job",
        outputs: "Plan",
        recorder: "Recorder",
        *,
        inbox: Inbox,
        terminal: Terminal,
        timing: "Timing",
    ) -> None:
        self._job = job
        self._outputs = outputs
        self._inbox = inbox
        self._terminal = terminal
        self._clock = timing.clock
        self._cadence = timing.cadence
        self._deadline = timing.deadline
        self._kill_at: float | None = None
        self._recorder = recorder
        self._forwarded: list[int] = []
        self._interrupts = 0
        self._timed_out = False
        self._gave_up = False
        self._pressure: int | None = None
        self._poll = select.poll()
        self._poll.register(inbox.fd, select.POLLIN)
        if terminal.present:
            # with the job in front we are a background writer, which a terminal may stop
            _signal.signal(_signal.SIGTTOU, _signal.SIG_IGN)
        self.ending: Ending | None = None
        self.children_left = True
        self.paused = False

    def until_exit(self, *, children_too: bool) -> Ending:
        """Run until the command ended and, if asked, all its descendants."""
        while True:
            self._wait()
            if self.ending is not None and (not children_too or not self.children_left or self._gave_up):
                if children_too:
                    # what was measured lasted until the last child ended
                    self.ending.at, self.ending.wall = self._clock.monotonic(), self._clock.wall()
                return self.ending

    def poll_once(self, seconds: float) -> Ending | None:
        """Watch for a moment without sampling: a job that ends at once is never sampled."""
        until = self._clock.monotonic() + seconds
        while self.ending is None and (left := until - self._clock.monotonic()) > 0:
            self._turn(left)
        return self.ending

    def _wait(self) -> None:
        now = self._clock.monotonic()
        moments = [self._cadence.due(), self._deadline, self._kill_at]
        self._turn(min(moment for moment in moments if moment is not None) - now)
        now = self._clock.monotonic()
        if self._deadline is not None and now >= self._deadline:
            self._time_out(now)
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = None
            self._gave_up = True
            self._job.signal(_signal.SIGKILL)
        if now >= self._cadence.due():
            self._recorder.sample()
            self._reap()  # should a wake-up ever be lost, the end is noticed all the same
            self._follow_terminal()
            self._cadence.taken(self._clock.monotonic())

    def _turn(self, seconds: float) -> None:
        channels = self._arm()
        for fd, _flags in self._poll.poll(max(0.0, seconds * 1000)):
            if fd == self._inbox.fd:
                self._forward(self._inbox.take())
                self._reap()
                continue
            if fd == self._pressure and self.ending is None:
                self._recorder.sample()
                continue
            if fd in channels:
                self._relay(channels[fd])
                if not channels[fd].open:
                    self._disarm(fd)

    def watch_pressure(self, fd: int | None) -> None:
        """Sample at once when memory becomes short, not only when the next sample is due."""
        if fd is not None:
            self._pressure = fd
            self._poll.register(fd, select.POLLPRI)

    def _relay(self, channel: "Channel") -> None:
        if channel.blocked:
            channel.push()
        else:
            channel.pull()
            self._recorder.index_output(channel)
        if channel.is_pty:
            self._follow_terminal()

    def _arm(self) -> "dict[int, Channel]":
        """Listen to each output, or, while its reader is behind, for room there."""
        armed: dict[int, Channel] = {}
        for channel in self._outputs.channels:
            if not channel.open and not channel.blocked:
                continue
            listen, mute = (
                (channel.sink, channel.source) if channel.blocked else (channel.source, channel.sink)
            )
            self._disarm(mute)
            self._poll.register(listen, select.POLLOUT if channel.blocked else select.POLLIN)
            armed[listen] = channel
        return armed

    def _disarm(self, fd: int) -> None:
        try:
            self._poll.unregister(fd)
        except (KeyError, ValueError):
            return  # it was not armed

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, _WAIT_FLAGS)
            except ChildProcessError:
                self._nobody_left()
                return
            if pid == 0:
                if self._only_helpers_left():
                    self._nobody_left()
                return
            if pid != self._job.pid:
                if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                    self._job.waited_for(pid, usage)
                continue
            if os.WIFSTOPPED(status):
                self._stopped(os.WSTOPSIG(status))
            elif os.WIFCONTINUED(status):
                self.paused = False
                self._recorder.event("continued", {})
            else:
                self._ended(status)

    def _nobody_left(self) -> None:
        self.children_left = False
        if self.ending is None:
            self._lost()

    def _only_helpers_left(self) -> bool:
        """Whether all children that live are our own: they would make us wait for ever."""
        if not self._job.helper_pids():
            return False
        if self.ending is None:
            return not self._job.exists()
        self._job.refresh(full=True)
        return not self._job.processes

    def _lost(self) -> None:
        """No child is left and none of them was the job: waiting for its end would last for ever."""
        self._recorder.event(
            "source_failed", {"source": "wait", "error": "the job ended and nobody told how"}
        )
        self._ended(_NOBODY_TOLD << 8)

    def _ended(self, status: int) -> None:
        self.ending = Ending(
            status,
            self._clock.monotonic(),
            self._clock.wall(),
            forwarded=self._forwarded,
            timed_out=self._timed_out,
        )
        self.ending.from_terminal = self._by_key(self.ending)

    def _forward(self, numbers: list[int]) -> None:
        for number in numbers:
            if number == _signal.SIGWINCH:
                self._follow_terminal()
            elif number == _signal.SIGCONT:
                self._resume()
            elif number == _signal.SIGINT:
                step = ESCALATION[min(self._interrupts, len(ESCALATION) - 1)]
                self._interrupts += 1
                self._pass_on(step)
            else:
                self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        if number != _signal.SIGTSTP:
            self._forwarded.append(number)
            self._recorder.event("signal", {"signal": signal_names.name(number)})
        self._job.signal(number)
        if self.paused and number not in STOPPERS:
            self._job.signal(_signal.SIGCONT)  # a stopped job cannot act on a signal

    def _time_out(self, now: float) -> None:
        self._deadline = None
        self._timed_out = True
        if self.ending is not None:
            self.ending.timed_out = True  # only its children were still there
        self._kill_at = now + _GRACE_SECONDS
        self._recorder.event("timeout", {})
        self._job.signal(_signal.SIGTERM)
        self._job.signal(_signal.SIGCONT)

    def _stopped(self, number: int) -> None:
        self.paused = True
        self._recorder.event("stopped", {"signal": signal_names.name(number)})
        if number not in STOPPERS or not self._terminal.present:
            return  # stopped by kill -STOP or a scheduler: who did it will continue it
        group = self._job.group
        if number != _signal.SIGTSTP and (self._terminal.belongs_to(group) or self._terminal.give(group)):
            # it asked for the terminal in the moment before it was given, or is part of a pipeline
            self._job.signal(_signal.SIGCONT)
            return
        self._terminal.take_back(group)
        # stop as the terminal would have stopped us, so that the shell gets its prompt; an orphaned group
        # ignores this and the job is continued at once, as it would have been without us
        stop = _signal.SIGTTIN if number == _signal.SIGTTIN else _signal.SIGTSTP
        before = _signal.signal(stop, _signal.SIG_DFL)
        os.kill(0, stop)
        _signal.signal(stop, before)
        if _signal.SIGCONT not in self._inbox.arrived:
            self._resume()

    def _resume(self) -> None:
        self._terminal.give(self._job.group)
        self._job.signal(_signal.SIGCONT)

    def _follow_terminal(self) -> None:
        ptys = [channel for channel in self._outputs.channels if channel.is_pty and channel.open]
        if not ptys:
            return
        size = self._terminal.size_changed()
        for channel in ptys:
            if size is not None:
                set_window_size(channel.source, size)
            self._terminal.follow_settings(channel.source)
        if size is not None:
            self._job.signal(_signal.SIGWINCH)

    def hand_terminal_back(self) -> None:
        """Put our own group in front again, with the settings we found."""
        self._terminal.take_back(self._job.group)
        self._terminal.restore()

    def _by_key(self, ending: Ending) -> bool:
        """Whether a key ended the job: nobody sent us that signal, and the job had the terminal."""
        keys = (_signal.SIGINT, _signal.SIGQUIT)
        return ending.signal in keys and self._terminal.was_given and not ending.forwarded

    def drain_outputs(self) -> None:
        """Keep what the job had written when it ended."""
        for channel in self._outputs.channels:
            channel.drain()

    def finish_outputs(self) -> None:
        """Pass on what is left; where descendants still write, leave a process behind that relays for them."""
        if any(channel.blocked for channel in self._outputs.channels):
            self._inbox.release()  # our reader may never read: then we can be ended as `cat` could
        for channel in self._outputs.channels:
            channel.finish()
        open_channels = [channel for channel in self._outputs.channels if channel.open]
        if not open_channels or not self.children_left or os.fork() != 0:
            return
        try:
            self._stand_apart()
            while any(channel.open for channel in open_channels):
                self._turn(60.0)
            self._recorder.index_rest()
        finally:
            os._exit(0)

    def _stand_apart(self) -> None:
        """Hold nothing but what is relayed, out of reach of the terminal: others wait for these ends to close."""
        os.setsid()
        self._inbox.arrived.clear()
        self._inbox.release()
        needed = {channel.sink for channel in self._outputs.channels if channel.open}
        for channel in self._outputs.channels:
            if not channel.open:
                channel.close_sink()
        for name in os.listdir("/proc/self/fd"):
            fd = int(name)
            try:
                if fd not in needed and os.get_inheritable(fd):
                    os.close(fd)
            except OSError:
                continue  # the listing's own
