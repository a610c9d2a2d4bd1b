"""The program of the GPU helper process: it alone talks to a driver, which may be slow, hang or fall over.

The recorder asks by lines on stdin (`tick`, `now`, `watch UUID ...`) and reads lines from stdout whenever they
are there; it never waits. Fast calls are made here on the main thread, shortly before the recorder's next
sample is due; slow ones (the energy counter of an H200 takes 4 ms) by a thread of their own with a mailbox for
one request: while it is busy, a newer request replaces the one that waits. It ends with its recorder, by the
end of stdin and by the kernel's parent-death signal.

Lines are fields separated by tabs: `device UUID INDEX BUS PARENT NAME`, `ready`, `fast|slow TIME UUID key=value ...`,
`processes TIME UUID pid=bytes:percent ...`, `event TIME UUID key=value`, `error UUID text`, `done TIME`,
`unusable text`.
"""

import os
import select
import sys
import time

from jobmeter.probes import libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Protocol

    Value = int | float | str

    class Backend(Protocol):
        """What the helper needs of a driver; every call may take long and may raise OSError."""

        def devices(self) -> "Iterable[tuple[str, str, str, str, str]]":
            """List UUID, index, bus id, parent's UUID (empty) and name of every device."""

        def fast(self, uuid: str) -> "Mapping[str, Value]":
            """Read what takes microseconds."""

        def slow(self, uuid: str) -> "Iterator[Mapping[str, Value]]":
            """Read the rest, what is worth most first."""

        def processes(self, uuid: str) -> "Mapping[int, tuple[int | None, float | None]]":
            """Map the pids on a device to bytes and percent, as far as the driver knows them."""

        def events(self) -> "Iterator[tuple[str, str, int]]":
            """Wait for faults for ever; none where the driver tells none."""


_LEAD_SECONDS = 0.1
"""Slow calls of one device are done in this time, so that both kinds of values arrive for the same sample."""

_OTHERS_ROUNDS = 5
"""Devices that are not watched are asked for their processes at every fifth round only."""

_MOST_PROCESSES = 100
_INHERITED = 1024
"""Descriptors that the recorder's caller left open are not ours to hold."""


class Out:
    """Writes whole lines; each is short enough for the kernel not to mix two writers' lines."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def line(self, *fields: object) -> None:
        """Write one line; without a reader there is nothing left to do."""
        text = "\t".join(str(field).replace("\n", " ").replace("\t", " ") for field in fields)
        try:
            os.write(self._fd, text.encode("utf-8", "replace")[:4000] + b"\n")
        except OSError:
            os._exit(0)

    def values(self, kind: str, uuid: str, values: "Mapping[str, Value]") -> None:
        """Write what was read of one device, with the moment it was read."""
        if values:
            pairs = [f"{name}={value}" for name, value in values.items()]
            self.line(kind, f"{time.monotonic():.6f}", uuid, *pairs)


class Slow:
    """Does the slow calls, one request at a time; `ask` never waits for it."""

    __slots__ = ("_backend", "_box", "_every", "_out", "_round")

    def __init__(self, backend: "Backend", out: Out, every: list[str]) -> None:
        import queue

        self._backend = backend
        self._out = out
        self._every = every
        self._round = 0
        self._box: queue.Queue[tuple[list[str], bool]] = queue.Queue(maxsize=1)

    def ask(self, watched: list[str], *, last: bool) -> None:
        """Leave a request; one that still waits is out of date."""
        import queue

        try:
            self._box.get_nowait()
        except queue.Empty:
            self._round += 1  # the thread kept up
        self._box.put_nowait((watched, last))

    def run(self) -> None:
        """Serve for ever."""
        while True:
            watched, last = self._box.get()
            if last:
                self._each(watched, self._first_values)
                self._out.line("done", f"{time.monotonic():.6f}")
                continue
            everywhere = not watched or self._round % _OTHERS_ROUNDS == 1
            self._each(self._every if everywhere else watched, self._processes)
            self._each(watched, self._all_values)

    def _each(self, uuids: list[str], read: "Callable[[str], None]") -> None:
        for uuid in uuids:
            guarded(self._out, uuid, read)

    def _first_values(self, uuid: str) -> None:
        self._out.values("slow", uuid, next(self._backend.slow(uuid), {}))

    def _all_values(self, uuid: str) -> None:
        for values in self._backend.slow(uuid):
            self._out.values("slow", uuid, values)

    def _processes(self, uuid: str) -> None:
        found = self._backend.processes(uuid)
        pairs = [f"{pid}={_text(used)}:{_text(util)}" for pid, (used, util) in found.items()]
        self._out.line("processes", f"{time.monotonic():.6f}", uuid, *pairs[:_MOST_PROCESSES])


def _text(value: float | None) -> str:
    return "" if value is None else str(value)


def guarded(out: Out, uuid: str, read: "Callable[[str], None]") -> None:
    """Ask one device; one that fell off the bus must not cost the others."""
    try:
        read(uuid)
    except OSError as error:
        out.line("error", uuid, error)


class Loop:
    """Listens to the recorder and reads shortly before its next sample."""

    __slots__ = ("_asked_at", "_backend", "_due", "_out", "_pending", "_slow", "_watched")

    def __init__(self, backend: "Backend", out: Out, slow: Slow) -> None:
        self._backend = backend
        self._out = out
        self._slow = slow
        self._watched: list[str] = []
        self._asked_at: float | None = None
        self._due: float | None = None
        self._pending = b""

    def run(self) -> None:
        """Serve until the recorder closes its end."""
        poll = select.poll()
        poll.register(0, select.POLLIN)
        while True:
            left = None if self._due is None else max(0.0, (self._due - time.monotonic()) * 1000)
            if poll.poll(left):
                words = os.read(0, 65536)
                if not words:
                    return
                self._hear(words)
            if self._due is not None and time.monotonic() >= self._due:
                self._due = None
                self._read(last=False)

    def _hear(self, words: bytes) -> None:
        *lines, self._pending = (self._pending + words).split(b"\n")
        for line in lines:
            command, *uuids = line.decode("utf-8", "replace").split()
            if command == "watch":
                self._watched = uuids
            elif command == "now":
                self._read(last=True)
            else:
                self._ticked(time.monotonic())

    def _ticked(self, now: float) -> None:
        gap = 0.0 if self._asked_at is None else now - self._asked_at
        self._asked_at = now
        self._due = now + max(gap - _LEAD_SECONDS, gap / 2)

    def _read(self, *, last: bool) -> None:
        self._slow.ask(list(self._watched), last=last)
        if last:
            return
        for uuid in self._watched:
            guarded(self._out, uuid, self._fast)
        # also without a device to watch: the recorder sees that we live
        self._out.line("tick", f"{time.monotonic():.6f}")

    def _fast(self, uuid: str) -> None:
        self._out.values("fast", uuid, self._backend.fast(uuid))


def main(arguments: list[str]) -> int:
    """Serve one recorder with one backend."""
    libc.die_with_parent()
    if os.getppid() != int(arguments[1]):
        return 0  # it died before the kernel was asked to tell us
    os.closerange(3, _INHERITED)
    out = Out(1)
    try:
        backend = _backend(arguments[0], arguments[2:])
        devices = list(backend.devices())
    except (ImportError, OSError) as error:
        out.line("unusable", error)
        return 1
    for device in devices:
        out.line("device", *device)
    slow = Slow(backend, out, [device[0] for device in devices])
    _start_thread(slow.run)
    _start_thread(lambda: _tell_events(backend, out))
    out.line("ready")
    Loop(backend, out, slow).run()
    return 0


def _backend(name: str, options: list[str]) -> "Backend":
    if name == "rocm":
        from jobmeter.probes import rocmsysfs

        return rocmsysfs.Backend(*options)
    from jobmeter.probes import nvml

    return nvml.Backend()


def _tell_events(backend: "Backend", out: Out) -> None:
    for uuid, kind, number in backend.events():
        out.line("event", f"{time.monotonic():.6f}", uuid, f"{kind}={number}")


def _start_thread(run: "Callable[[], None]") -> None:
    import threading

    # a thread that breaks must not look like one that waits
    threading.excepthook = _give_up
    threading.Thread(target=run, daemon=True).start()


def _give_up(broken: "threading.ExceptHookArgs") -> None:
    _last_words(broken.exc_type, broken.exc_value)
    os._exit(1)


def _last_words(kind: type[BaseException], value: BaseException | None, _traceback: object = None) -> None:
    Out(1).line("error", "", f"{kind.__name__}: {value}")


def run(arguments: list[str]) -> None:
    """Be the helper process; threads that hang in the driver do not keep it alive."""
    sys.excepthook = _last_words
    os._exit(main(arguments))
