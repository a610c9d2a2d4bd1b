"""The steps of rows that do not say theirs: from the bar drawn beside them, else by counting.

The Hugging Face Trainer prints a row through its bar: the bar is wiped, the row printed, the bar drawn again at
exactly the row's step. Where rows and bars are one stream, the bar follows its row. Where the rows go to stdout and
the bars to stderr, the n-th row belongs to the n-th bar that was drawn again after being wiped.
"""

import math
from collections.abc import Callable

from jobmeter.formats.steplines.bars import Bar
from jobmeter.formats.steplines.held import Draft, Redraw, State, Waiting
from jobmeter.formats.steplines.row import Memory, Number, Phase
from jobmeter.formats.steplines.segments import Piece

_BESIDE_BYTES = 1_024
_MOST_REDRAWS = 20_000
_MOST_WAITING = 8
_NEAR = 1e-6


class Numbering:
    """Numbers the rows of one stream; `other` is that of the stream with the bars, where they are two."""

    def __init__(self, state: State, emit: Callable[[Draft], None], other: "Numbering | None") -> None:
        self._state = state
        self._emit = emit
        self._other = other
        self._is_shared = False
        if other is not None:
            other._is_shared = True

    def wait(self, draft: Draft, phase: Phase, who: str, piece: Piece) -> None:
        """Hold a row until its bar is seen."""
        memory = self._state.memories[who]
        if self._other is None:
            self._distrust(memory, who)
        self.release(before=None if self._other is None else piece.start)
        self._state.waiting.append(
            Waiting(
                draft=draft,
                phase=phase,
                who=who,
                end=piece.end,
                position=memory.bar_position,
                rate={} if memory.is_over else dict(memory.bar_rate),
                index=self._state.rows,
            )
        )
        self._state.rows += 1

    def _distrust(self, memory: Memory, who: str) -> None:
        """Take no number from a bar that stands at its end while rows go on: a console kept its last drawing only."""
        if memory.bar_total is None or memory.bar_position != memory.bar_total:
            return
        for row in self._state.waiting:
            if row.who == who and row.position == memory.bar_total and memory.row_position != row.position:
                row.position, row.rate = None, {}
        memory.bar_position = None if self._state.waiting else memory.bar_position

    def pass_over_row(self) -> None:
        """Count a row that is no step but was printed through the bar as well."""
        self.release(before=None if self._other is None else 0)
        self._state.rows += 1

    def see_bar(self, bar: Bar, who: str, piece: Piece, timestamp: float | None) -> None:
        """Learn where the bar stands; number the row printed just before it was drawn again."""
        memory = self._state.memories[who]
        if memory.is_over or (not piece.after_return and not _is_successor(bar, memory)):
            return
        memory.bar_position, memory.bar_total, memory.bar_rate = bar.position, bar.total, dict(bar.rate)
        if not piece.after_return:
            return
        waiting = self._state.waiting[0] if self._state.waiting and self._other is None else None
        if waiting is not None and waiting.who == who and piece.start - waiting.end <= _BESIDE_BYTES:
            self._state.waiting.pop(0)
            self._number(waiting, bar.position, bar.rate)
            return
        if bar.position and not bar.is_training and piece.after_blank:
            self._note_redraw(bar, timestamp)

    def _note_redraw(self, bar: Bar, timestamp: float | None) -> None:
        if self._is_shared:
            self._state.redraws.append(
                Redraw(position=bar.position, timestamp=timestamp, rate=dict(bar.rate))
            )
            if len(self._state.redraws) > _MOST_REDRAWS:
                self._forget(self._state.redraws_taken + 1)
            return
        if self._state.rows or not bar.rate:
            return  # the rows themselves are steps
        self._emit(
            Draft(source="log:tqdm", rank=0, step=bar.position, timestamp=timestamp, metrics=dict(bar.rate))
        )

    def release(self, before: int | None) -> None:
        """Number the rows whose bar cannot come any more; with None all of them."""
        waiting = self._state.waiting
        while waiting:
            first = waiting[0]
            redraw = self._redraw(first.index)
            if redraw is not None:
                waiting.pop(0)
                first.draft.timestamp = (
                    redraw.timestamp if redraw.timestamp is not None else first.draft.timestamp
                )
                self._number(first, redraw.position, redraw.rate)
                continue
            if before is not None and not self._is_late(first, before):
                return
            waiting.pop(0)
            self._number(first, first.position, first.rate)

    def _is_late(self, row: Waiting, before: int) -> bool:
        if self._other is None:
            return before - row.end > _BESIDE_BYTES
        if not self._other.has_bars() or self._state.memories[row.who].counted:
            return True
        # the bars there are somebody else's if nothing was ever printed through them
        return len(self._state.waiting) >= _MOST_WAITING and not self._other.has_redraws()

    def has_bars(self) -> bool:
        """Tell whether a bar was seen that can number rows."""
        return any(memory.bar_total is not None for memory in self._state.memories.values())

    def has_redraws(self) -> bool:
        """Tell whether a bar was ever drawn again after being wiped."""
        return bool(self._state.redraws or self._state.redraws_taken)

    def _redraw(self, index: int) -> Redraw | None:
        if self._other is None:
            return None
        self._other._forget(index)
        place = index - self._other._state.redraws_taken
        kept = self._other._state.redraws
        return kept[place] if 0 <= place < len(kept) else None

    def _forget(self, index: int) -> None:
        """Drop the redraws before one that is asked for: rows come in order."""
        gone = min(max(index - self._state.redraws_taken, 0), len(self._state.redraws))
        del self._state.redraws[:gone]
        self._state.redraws_taken += gone

    def _number(self, row: Waiting, position: int | None, rate: dict[str, Number]) -> None:
        memory = self._state.memories[row.who]
        if position is None:
            said = memory.step if memory.step is not None and not memory.counted else None
            row.draft.step = count(memory, row.phase) if said is None else said
        else:
            row.draft.step = _after_the_row_before(row, position, memory)
            row.draft.metrics = row.draft.metrics | rate
        if row.phase is Phase.TRAIN:
            memory.step = row.draft.step
        self._emit(row.draft)


def _after_the_row_before(row: Waiting, position: int, memory: Memory) -> int:
    """Number a row by its bar; where the bar was not drawn between two rows, the second is at least one further."""
    if row.phase is not Phase.TRAIN:
        return position
    names = "|".join(row.draft.metrics)
    # no row of training is printed before the first step, whatever the bar still shows
    step = max(position + _is_one_behind(position, memory.bar_total, row.draft.metrics.get("epoch")), 1)
    if memory.step is not None and names == memory.row_names and position >= memory.row_position:
        step = max(step, memory.step + 1)
    memory.row_position, memory.row_names = position, names
    return step


def _is_one_behind(position: int, total: int | None, epoch: Number | None) -> bool:
    """Tell a bar that was not drawn yet at the row's step: with the next step its epoch makes whole epochs in all."""
    if not position or not total or not epoch or not math.isfinite(epoch):
        return False
    at, after = total * epoch / position, total * epoch / (position + 1)
    return _is_whole(after) and not _is_whole(at)


def _is_whole(number: float) -> bool:
    return number >= 1 - _NEAR and abs(number - round(number)) < _NEAR


def count(memory: Memory, phase: Phase) -> int:
    """Number a row that nothing numbers: by counting, or with the step it evaluates."""
    if phase is Phase.TRAIN:
        memory.counted += 1
        return memory.counted
    if memory.step is not None:
        return memory.step
    memory.counted_evaluations += 1
    return memory.counted_evaluations


def _is_successor(bar: Bar, memory: Memory) -> bool:
    """Tell the training's own bar from those of evaluations, which are shorter.

    Needed only where a tool flattened the terminal: else bars of evaluations are drawn below, and known by that.
    """
    if memory.bar_total is None or bar.total is None or memory.bar_position == memory.bar_total:
        return bar.total is not None
    return bar.total >= memory.bar_total
