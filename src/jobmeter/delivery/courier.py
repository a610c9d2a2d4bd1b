"""Carries messages out of an outbox: a receiver that hangs holds up nobody but the next message of its own channel."""

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from jobmeter.delivery import channels
from jobmeter.delivery.channels import Channel
from jobmeter.delivery.outbox import Message, Outbox, Waiting
from jobmeter.delivery.webhooks import Outcome
from jobmeter.errors import JobmeterError
from jobmeter.model.alert import Notice

LOOK_SECONDS = 0.5
_STOP_LOOK_SECONDS = 0.02
_GONE = Outcome(is_delivered=False, sentence="the config has no channel of this name any more")


class Courier:
    """Takes changes in from any thread and sends them from its own."""

    def __init__(
        self,
        known: Mapping[str, Channel],
        kept: Waiting | None,
        *,
        keep: Callable[[], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`keep` is called before and after every attempt: what `kept` gives must then be stored."""
        self._channels = dict(known)
        self._outbox = Outbox(self._channels, kept)
        self._keep = keep
        self._clock = clock
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._busy: set[str] = set()
        """Channels that a message is under way through."""
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to send."""
        self._thread = threading.Thread(target=self._carry, name="jobmeter-courier", daemon=True)
        self._thread.start()

    def stop(self, seconds: float = 2.0) -> None:
        """End after the message that is under way; what waits is kept."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(seconds)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._is_busy():
            time.sleep(_STOP_LOOK_SECONDS)

    def use(self, known: Mapping[str, Channel]) -> None:
        """Send through these channels from now on."""
        with self._lock:
            self._channels.clear()
            self._channels.update(known)

    def add(self, told: Iterable[tuple[Notice, Iterable[str]]]) -> None:
        """Take changes in, each with the names of its channels."""
        with self._lock:
            for notice, names in told:
                self._outbox.add(notice, names, self._clock())

    def hasten(self) -> None:
        """Send what waits for company."""
        with self._lock:
            self._outbox.hasten(self._clock())
        self._wake.set()

    def give_up(self, reason: str) -> None:
        """Count what still waits as not delivered."""
        with self._lock:
            self._outbox.give_up(reason)

    def _is_busy(self) -> bool:
        with self._lock:
            return bool(self._busy)

    def is_empty(self) -> bool:
        """Say whether nothing waits."""
        with self._lock:
            return self._outbox.is_empty()

    def kept(self) -> Waiting:
        """Give what must be remembered."""
        with self._lock:
            return self._outbox.kept()

    def turn(self, *, wait: bool = True) -> int:
        """Send what is due, every channel by itself; give how many messages that were."""
        with self._lock:
            due = self._outbox.take_due(self._clock(), busy=self._busy)
            self._busy |= {message.channel for message in due}
        if due:
            self._keep_safely()
        threads = [
            threading.Thread(target=self._carry_out, args=(name, due), name=f"jobmeter-{name}", daemon=True)
            for name in {message.channel for message in due}
        ]
        for thread in threads:
            thread.start()
        for thread in threads if wait else ():
            thread.join()
        return len(due)

    def _carry_out(self, name: str, due: Sequence[Message]) -> None:
        for message in due:
            if message.channel != name:
                continue
            outcome = self._send(message)
            with self._lock:
                # jitter needs no secrecy
                self._outbox.settle(message, outcome, self._clock(), chance=random.random())  # noqa: S311
            self._keep_safely()
        with self._lock:
            self._busy.discard(name)

    def _keep_safely(self) -> None:
        """Have what waits stored; where that fails people are told all the same, at worst twice after a restart."""
        try:
            self._keep()
        except (JobmeterError, OSError):
            return  # who stores it complains; a thread that ended here would tell nobody anything any more

    def _send(self, message: Message) -> Outcome:
        with self._lock:
            channel = self._channels.get(message.channel)
        if channel is None:
            return _GONE
        return channels.deliver(channel, message.notices, message_id=message.id, now=self._clock())

    def _carry(self) -> None:
        while not self._stopping.is_set():
            self.turn(wait=False)
            self._wake.wait(LOOK_SECONDS)
            self._wake.clear()
