"""One stream of a job's text, read as it comes: whole or in portions, once or across restarts, with one result.

A step's time is the line's own clock where it has a whole one, else when its bytes arrived. A row without a step
is numbered by the bar beside it (`numbering.py`).
"""

import re
from collections.abc import Callable

from jobmeter.formats.steplines import (
    aitoolkit,
    bars,
    barsteps,
    clocks,
    happenings,
    held,
    milestones,
    numbering,
    prefixes,
    segments,
    text,
    ultralytics,
)
from jobmeter.formats.steplines.bars import Bar
from jobmeter.formats.steplines.families import Families
from jobmeter.formats.steplines.held import Draft
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row
from jobmeter.formats.steplines.segments import Piece
from jobmeter.model.view import Event, Step

Arrival = Callable[[int], float | None]
"""When the byte at an offset of the stream had arrived, on the wall clock; None where nobody knows."""

_LONGEST_LINE = 16_384
"""Longer lines are searched for bars only."""
_LONGEST_REMEMBERED = 4_096
_MOST_RANKS = 4_096
_COLUMN_LINES = 64
_MOST_DIGITS = 200
_ENDLESS = re.compile(rf"\d{{{_MOST_DIGITS}}}")
"""No count has so many digits, and Python refuses to read thousands of them."""
_OF_OBJECTS = frozenset(("hf", "json"))
"""Families whose rows may be long without a blank."""
_NOTHING = Memory()


class _Line:
    """A piece as text, with whose it is."""

    __slots__ = ("memory", "moment", "piece", "rank", "text", "who", "whole")

    def __init__(self, piece: Piece, memories: dict[str, Memory], fresh: Memory) -> None:
        self.piece = piece
        self.whole = text.clean(piece.raw)
        self.rank, self.text = prefixes.split(self.whole)
        self.who = "" if self.rank is None or len(memories) > _MOST_RANKS else str(self.rank)
        self.memory = memories.get(self.who, fresh)
        self.moment: tuple[float | None] | None = None
        """When it was written, once somebody asked."""

    def is_readable(self) -> bool:
        """Tell a line with words in it from an empty one and from an endless number."""
        if not self.text or self.text.isspace():
            return False
        return len(self.text) < _MOST_DIGITS or _ENDLESS.search(self.text) is None


class Reader:
    """Reads one stream with the parsers given."""

    def __init__(
        self,
        families: Families,
        state: dict[str, object] | None = None,
        *,
        bars_of: "Reader | None" = None,
    ) -> None:
        self._families = families
        self._state = held.unpack(state)
        self._splitter = segments.Splitter(
            self._state.consumed,
            after_return=self._state.after_return,
            after_blank=self._state.after_blank,
        )
        others = None if bars_of is None else bars_of._numbers
        self._numbers: numbering.Numbering = numbering.Numbering(self._state, self._emit, others)
        self._steps: list[Step] = []
        self._events: list[Event] = []
        self._arrived_at: Arrival = _nobody_knows
        self._fresh = Memory()
        """That of a rank of which nothing is remembered yet."""
        self._expecting = {who for who, memory in self._state.memories.items() if memory.expects}
        """Ranks whose next lines belong to what the last one began."""
        self.untimed: list[tuple[str, dict[str, object]]] = []
        """Events that no clock told the time of: their type and details."""
        self.assumed_utc = False
        self.reached_end = False
        self.last_row_end = 0
        """Where in the stream the last row or bar of training ended."""

    @property
    def consumed(self) -> int:
        """How many bytes of the stream need not be fed again."""
        return self._splitter.consumed

    @property
    def counted_rows(self) -> bool:
        """Tell whether rows had to be numbered by counting them."""
        return any(memory.counted or memory.counted_evaluations for memory in self._state.memories.values())

    @property
    def guessed_sizes(self) -> bool:
        """Tell whether steps count on over epochs whose size nobody said."""
        return any(memory.has_guessed_sizes for memory in self._state.memories.values())

    def feed(self, data: bytes, arrived_at: Arrival, offset: int, *, final: bool = False) -> None:
        """Read on: data begins at a byte offset of the stream; `final` says that nothing follows."""
        self._arrived_at = arrived_at
        self._splitter.feed(data, offset)
        waiting = self._state.waiting
        for piece in self._splitter.pieces(self._expecting, final=final):
            if waiting:
                self._numbers.release(before=piece.start)
            self._read(_Line(piece, self._state.memories, self._fresh))
        self._numbers.release(before=self.consumed)
        if final:
            self._finish()

    def take(self) -> tuple[list[Step], list[Event]]:
        """Give what became certain since the last time."""
        steps, events = self._steps, self._events
        self._steps, self._events = [], []
        return steps, events

    def state(self) -> dict[str, object]:
        """Say as JSON where this reader stands; another one goes on from `consumed`."""
        self._state.consumed = self._splitter.consumed
        self._state.after_return = self._splitter.after_return
        self._state.after_blank = self._splitter.after_blank
        return held.pack(self._state)

    def _read(self, line: _Line) -> None:
        if not line.is_readable():
            return
        memory = line.memory
        if memory.expects:
            memory.expects -= 1
        closed = aitoolkit.close(line.text, memory) if memory.timers else None
        if closed is not None:
            self._keep("aitoolkit", closed, line)
        self._read_line(line)
        if memory is self._fresh:
            self._remember(line.who, memory)
        if memory.expects:
            self._expecting.add(line.who)
        elif self._expecting:
            self._expecting.discard(line.who)

    def _remember(self, who: str, memory: Memory) -> None:
        """Keep the memory of a rank of which something is known now."""
        if memory != _NOTHING:
            self._state.memories[who] = memory
        if self._state.memories.get(who) is memory:
            self._fresh = Memory()

    def _read_line(self, line: _Line) -> None:
        details = milestones.parse(line.text) if line.piece.may_be_milestone else None
        if details is not None:
            self._tell("milestone", details, line)
        elif line.piece.may_be_milestone:
            self._tell_happening(line)
        if details is not None or not line.piece.may_be_row:
            return
        table = ultralytics.parse(line.text, line.memory) if line.memory.columns else None
        if table is not None:
            self._keep("ultralytics", table, line)
            return
        if line.memory.column_of and self._read_column(line):
            return
        found = bars.find(line.text)
        if found:
            self._read_bars(found, line)
            line.text = line.text[found[-1].end :]
        if line.text:
            self._read_words(line)

    def _read_words(self, line: _Line) -> None:
        """Read what stands behind the bars of a line, or all of one without bars."""
        if "%" in line.text:
            line.memory.wrapped = bars.unfinished(line.text) or line.memory.wrapped
        # backticks quote a line of a log; no tool prints its own between them
        if len(line.text) > _LONGEST_LINE or not line.text.strip() or "`" in line.text:
            return
        line.text, is_odd = text.tamed(line.text)
        for name, parse in self._families.of(line.text):
            row = None if is_odd and name not in _OF_OBJECTS else parse(line.text, line.memory)
            if row is not None:
                self._keep(name, row, line)
                return

    def _keep(self, family: str, row: Row, line: _Line) -> None:
        """Make a step of a row, or hold it until its number or its last drawing is known."""
        memory = line.memory
        words = line.text[:_LONGEST_REMEMBERED]
        if _is_told_again(words, row, memory):
            return  # a logger and a print say the same
        memory.last_row = words
        self.last_row_end = line.piece.end
        memory.is_over = row.phase is not Phase.TRAIN and (memory.is_over or row.phase is Phase.SUMMARY)
        if row.phase is Phase.SUMMARY:
            memory.last_row_at = _place(memory)
            self._numbers.pass_over_row()
            self.reached_end = True
            self._tell("summary", dict(row.metrics), line)
            return
        draft = self._draft(family, row, line)
        if row.is_numbered_by_bar:
            memory.last_row_at = _place(memory)
            self._state.memories[line.who] = memory
            self._numbers.wait(draft, row.phase, line.who, line.piece)
            return
        draft.step = numbering.count(memory, row.phase) if row.step is None else row.step
        self._note_place(memory, draft.step, row)
        memory.last_row_at = _place(memory)
        if row.may_repeat:
            self._redrawn(f"{line.who}|{family}", draft)
            return
        before = self._state.open.pop(f"{line.who}|{family}", None)
        if before is not None:
            self._emit(before)
        self._emit(draft)

    def _draft(self, family: str, row: Row, line: _Line) -> Draft:
        rank = row.rank if row.rank is not None else line.rank
        timestamp = row.timestamp if row.timestamp is not None else self._time(line)
        return Draft(source=f"log:{family}", rank=rank or 0, step=0, timestamp=timestamp, metrics=row.metrics)

    def _note_place(self, memory: Memory, step: int, row: Row) -> None:
        if row.phase is not Phase.TRAIN and row.step is None:
            return
        memory.step = step
        memory.total = row.total or memory.total
        self.reached_end = memory.total is not None and step >= memory.total

    def _read_bars(self, found: list[Bar], line: _Line) -> None:
        is_nested = text.is_nested(line.piece.raw)
        for place, bar in enumerate(found):
            self._tell_sampling(bar, line)
            if place == 0 and bar.is_fragment and line.memory.wrapped:
                bar.words, line.memory.wrapped = line.memory.wrapped, ""
            is_training = bar.is_training
            if is_training:
                self._keep_bar(bar, line)
            if bar.may_number_rows(is_training=is_training) and not is_nested:
                self._state.memories[line.who] = line.memory
                self._numbers.see_bar(bar, line.who, line.piece, self._time(line))

    def _keep_bar(self, bar: Bar, line: _Line) -> None:
        metrics: dict[str, Number] = bar.metrics | bar.rate
        memory = line.memory
        key = f"{line.who}|{bars.without_numbers(bar.words)}|{bar.total}"
        barsteps.note_lightning(bar, memory, self._state.open.get(key))
        step = barsteps.step_of(bar, metrics, key, memory)
        if step is None:
            return
        barsteps.drop_stale(metrics, step, memory)
        memory.step, memory.has_bars = step, True
        self.last_row_end = line.piece.end
        self.reached_end = bar.position == bar.total and bar.may_be_last(memory.first_epoch or 0)
        family = barsteps.LIGHTNING if bar.is_lightning else barsteps.TQDM
        draft = Draft(
            source=f"log:{family}",
            rank=line.rank or 0,
            step=step,
            timestamp=self._time(line),
            metrics=metrics,
        )
        self._redrawn(key, draft)
        if bar.is_rich:
            memory.column, memory.column_of, memory.expects = "", key, _COLUMN_LINES

    def _read_column(self, line: _Line) -> bool:
        """Add a line that rich broke off its bar; False where the column is over."""
        memory = line.memory
        draft = self._state.open.get(memory.column_of)
        if draft is None or not bars.is_column(line.whole):
            memory.column, memory.column_of, memory.expects = "", "", 0
            return False
        memory.column += " " + line.text.strip()
        draft.metrics |= bars.column(memory.column)
        return True

    def _redrawn(self, key: str, draft: Draft) -> None:
        done = held.put(self._state.open, key, draft)
        if done is not None:
            self._emit(done)

    def _time(self, line: _Line) -> float | None:
        if line.moment is None:
            line.moment = (self._moment(line),)
        return line.moment[0]

    def _moment(self, line: _Line) -> float | None:
        arrived_at = self._arrived_at(line.piece.end)
        read = clocks.read(line.whole)
        if read is None:
            return arrived_at
        moment, has_zone = read
        if has_zone:
            return moment
        if arrived_at is None:
            self.assumed_utc = True
            return moment
        self._state.zone_seconds = clocks.zone_seconds(moment, arrived_at, self._state.zone_seconds)
        return moment - self._state.zone_seconds

    def _emit(self, draft: Draft) -> None:
        self._steps.append(
            Step(
                timestamp=draft.timestamp,
                step=draft.step,
                rank=draft.rank,
                source=draft.source,
                metrics=draft.metrics,
            )
        )

    def _tell_happening(self, line: _Line) -> None:
        """Tell what a line says happened, with the step it happened at."""
        memory = line.memory
        memory.saving = happenings.saving_step(line.text) or memory.saving
        found = happenings.parse(line.text[:_LONGEST_LINE])
        if found is None:
            return
        step = memory.step
        known = [one.step for one in (memory, *self._state.memories.values()) if one.step is not None]
        told = None if found.about is None else f"{max(known, default=None)} {found.about}"
        if told is not None and self._state.told.get(found.type) == told:
            return  # another rank, or another exception, says the same
        if told is not None:
            self._state.told[found.type] = told
        if found.type == happenings.SAVED and memory.saving is not None:
            step, memory.saving = memory.saving, None
        self._tell(found.type, ({} if step is None else {"step": step}) | found.details, line)

    def _tell_sampling(self, bar: Bar, line: _Line) -> None:
        """Tell when a training stops to draw samples, and when it goes on."""
        memory = line.memory
        draws = bar.total is not None and aitoolkit.is_sampling(bar.words)
        if not draws and not memory.sampling:
            return
        step: dict[str, object] = {} if memory.step is None else {"step": memory.step}
        if draws and not memory.sampling and bar.position < (bar.total or 0):
            memory.sampling = bar.total or 0
            self._tell("sampling_start", step | {"images": memory.sampling}, line)
        elif memory.sampling and ((draws and bar.position == bar.total) or bar.is_training):
            self._tell("sampling_end", step | {"images": memory.sampling}, line)
            memory.sampling = 0

    def _tell(self, kind: str, details: dict[str, object], line: _Line) -> None:
        timestamp = self._time(line)
        if timestamp is None:
            self.untimed.append((kind, details))
            return
        self._events.append(Event(timestamp=timestamp, type=kind, details=details, rank=line.rank))

    def _finish(self) -> None:
        self._numbers.release(before=None)
        for draft in self._state.open.values():
            self._emit(draft)
        self._state.open.clear()
        for who, memory in self._state.memories.items():
            closed = aitoolkit.close("", memory)
            if closed is not None and closed.step is not None:
                rank = int(who or 0)
                source = "log:aitoolkit"
                self._emit(
                    Draft(source=source, rank=rank, step=closed.step, timestamp=None, metrics=closed.metrics)
                )


def _nobody_knows(_offset: int) -> float | None:
    return None


def _is_told_again(words: str, row: Row, memory: Memory) -> bool:
    """Tell a row that says word for word what the one before said, while the training stood still."""
    if words != memory.last_row or _place(memory) != memory.last_row_at:
        return False
    return row.is_numbered_by_bar or row.step == memory.step is not None


def _place(memory: Memory) -> str:
    return f"{memory.step}|{memory.bar_position}"
