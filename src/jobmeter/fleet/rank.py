"""One rank as it is seen from afar: its metrics file first, then its log; what was told once is not told again.

While the metrics file speaks, what the log says is held back. When the file has been silent for a while, or is
broken, the steps of the log that go beyond it are taken instead.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jobmeter.fleet.breaker import CircuitBreaker
from jobmeter.fleet.logfile import LogFile, LogLook
from jobmeter.fleet.metricsfile import Look, MetricsFile
from jobmeter.fleet.tail import Got, Wanted
from jobmeter.fleet.targets import Place
from jobmeter.fleet.told import Told
from jobmeter.model.view import Event

_HELD = 1000
_SILENT_LOOKS = 3
MISSING_LOOKS = 3
"""So many looks without a file or log before a rank is called missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLook:
    """What one look at a rank gave."""

    present: bool
    new: tuple[Told, ...]
    events: tuple[Event, ...]
    broken: str
    """Why nothing of this rank can be read; empty where something can."""
    problem: str
    """Why one of its files cannot be read."""
    more: bool


class Rank:
    """What is known of one rank, and how to ask for more."""

    def __init__(
        self, number: int, place: Place, breaker: CircuitBreaker, clock: Callable[[], float]
    ) -> None:
        self.number = number
        self.place = place
        self.breaker = breaker
        self.looks = 0
        self.failed_looks = 0
        self.samples = 0
        self.last_look: float | None = None
        """Monotonic, of the last look that was answered."""
        self.last_told: float | None = None
        """Monotonic, when something new was last found."""
        self.problem = ""
        self.missing = False
        self._clock = clock
        self._file = MetricsFile(place.metrics, number, place.shared)
        self._log = LogFile(place.log) if place.log else None
        self._absences = 0
        self._silent = 0
        self._file_told = False
        self._file_step: int | None = None
        self._held: list[Told] = []
        self._log_steps: deque[int] = deque(maxlen=_HELD)

    def wanted(self) -> list[Wanted]:
        """Ask for the metrics file, and for the log if there is one to ask for."""
        asked = [self._file.wanted()]
        return asked if self._log is None else [*asked, self._log.wanted()]

    def take(self, answers: Sequence[Got], wall: float, *, followup: bool = False) -> RankLook:
        """Make sense of the answers; a follow-up belongs to the look before it."""
        if not followup:
            self.looks += 1
        self.last_look = self._clock()
        file = self._file.take(answers[0])
        log = LogLook(present=False) if self._log is None else self._log.take(answers[1], wall)
        of_file = [one for one in file.new if not self._was_in_log(one)]
        new = (*of_file, *self._from_log(file, log, followup=followup))
        if new:
            self.last_told = self.last_look
            self.samples += len(new)
        present = file.present or log.present
        self._absences = 0 if present else self._absences + (not followup)
        self.problem = file.problem or log.problem
        heard = (file.present and not file.problem) or (log.present and not log.problem)
        return RankLook(
            present=present,
            new=new,
            events=log.events,
            broken="" if heard else self.problem,
            problem=self.problem,
            more=file.more or log.more,
        )

    def finish(self) -> RankLook:
        """Give what the log held back: its job has ended."""
        log = LogLook(present=False) if self._log is None else self._log.finish()
        new = tuple(self._from_log(Look(present=True), log, followup=True))
        self.samples += len(new)
        return RankLook(present=True, new=new, events=log.events, broken="", problem=self.problem, more=False)

    def turned_missing(self) -> bool:
        """True once, when the rank has shown nothing for some looks."""
        if self.missing or self._absences < MISSING_LOOKS:
            return False
        self.missing = True
        return True

    def turned_up(self) -> bool:
        """True once, when a missing rank shows something."""
        if not self.missing or self._absences:
            return False
        self.missing = False
        return True

    @property
    def tells(self) -> bool:
        """Whether there is a source of training figures at present."""
        return self._absences == 0 and self.last_told is not None

    def _from_log(self, file: Look, log: LogLook, *, followup: bool) -> list[Told]:
        """Give the log's steps that the metrics file did not and will not tell."""
        if file.new:
            self._silent, self._file_told = 0, True
            self._file_step = max((one.step for one in file.new if one.step is not None), default=None)
        elif not followup:
            self._silent += 1
        waiting = [*self._held, *log.new]
        self._held = []
        if not self._file_told:
            return self._take_over(waiting)
        beyond = self._file_step
        waiting = [
            one for one in waiting if beyond is not None and one.step is not None and one.step > beyond
        ]
        if file.present and self._silent < _SILENT_LOOKS and not file.problem:
            self._held = waiting[-_HELD:]
            return []
        return self._take_over(waiting)

    def _take_over(self, told: list[Told]) -> list[Told]:
        """Let the log speak, and remember what it said: a file that is written a moment later says it again."""
        self._log_steps.extend(one.step for one in told if one.step is not None)
        return told

    def _was_in_log(self, one: Told) -> bool:
        """Say whether the log was quicker; after a resume the same step comes again and is new."""
        if one.step is None or one.step not in self._log_steps:
            return False
        self._log_steps.remove(one.step)
        return True
