"""The moving part of `jobmeter top`: a list to walk through, alerts below it, and one run on a page of its own.

Colours are the terminal's own, so that light and dark both work. Looking happens in a thread of its own: keys answer at
once, however long a home or a server takes, and what was seen last stays until there is something newer.
"""

import threading
import time
from abc import abstractmethod
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from jobmeter.cli.render import table, top_text
from jobmeter.cli.render.screen import Style
from jobmeter.cli.render.table import Cell
from jobmeter.errors import JobmeterError, reason_of
from jobmeter.model import text
from jobmeter.model.board import Board, Close
from jobmeter.service import board

_STYLES = {
    Style.PLAIN: "",
    Style.BOLD: "bold",
    Style.DIM: "dim",
    Style.GOOD: "green",
    Style.BAD: "red",
    Style.WARN: "yellow",
    Style.LIVE: "cyan",
}
_STALE_SECONDS = 5.0
_REST = 10
"""Times as long as looking took the processor, nobody looks again."""
_MOST_ALERTS = 6
_LEAST_CELLS, _MARGIN_CELLS = 20, 3


def run(source: board.Source, interval_seconds: float, *, ramp: str) -> None:
    """Watch until `q`."""
    Top(source, interval_seconds, ramp=ramp).run()


def _painted(cells: list[Cell]) -> Text:
    # as spans: the style of a whole text is not taken from the terminal's own colours
    parts = (part for cell in cells for part in ((cell.text, _STYLES[cell.style]), "\n"))
    lines = Text.assemble(*parts, no_wrap=True)
    lines.rstrip()
    return lines


class Top(App[None]):
    """All runs, and below one of them."""

    CSS = """
    Screen, OptionList, OptionList:focus, Footer, FooterKey, VerticalScroll {
        background: ansi_default; color: ansi_default;
    }
    #head { height: 1; text-style: bold; padding: 0 1; }
    #state { height: 1; padding: 0 1; }
    #titles { height: 1; padding: 0 1; text-style: dim; }
    OptionList, OptionList:focus { border: none; padding: 0; height: 1fr; background-tint: transparent; }
    OptionList > .option-list--option { padding: 0 1; }
    OptionList > .option-list--option-highlighted, OptionList:focus > .option-list--option-highlighted {
        background: ansi_blue; color: ansi_bright_white;
    }
    #alerts { height: auto; padding: 0 1; }
    #close { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    """
    TITLE = "jobmeter top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "quit", show=False, priority=True),
    ]

    def __init__(self, source: board.Source, interval_seconds: float, *, ramp: str) -> None:
        super().__init__(ansi_color=True)
        self.source = source
        self.ramp = ramp
        self.seen: Board | None = None
        self.problem = ""
        self._interval_seconds = interval_seconds
        self._seen_at = 0.0
        self._wake = threading.Event()

    async def on_mount(self) -> None:
        """Show the list, and begin to look."""
        self.theme = "ansi-dark"
        await self.push_screen(Runs())
        threading.Thread(target=self._look_on, name="jobmeter-top", daemon=True).start()
        self.set_interval(1.0, self.draw)

    def look_now(self) -> None:
        """Look before it is time."""
        self._wake.set()

    def state(self) -> Text:
        """Say that what is shown is live, how old it is, or what is wrong."""
        past = time.time() - self._seen_at
        if self.problem:
            return _painted([Cell(text.cut(text.clean(self.problem), self.look().width), Style.BAD)])
        if self.seen is None:
            return _painted([Cell("looking ...", Style.DIM)])
        if past > max(self._interval_seconds, _STALE_SECONDS) * 2:
            return _painted([Cell(f"{past:.0f} s ago", Style.WARN)])
        return _painted([Cell("live", Style.GOOD)])

    def look(self) -> top_text.Look:
        """Say for whom is drawn."""
        width = max(_LEAST_CELLS, self.size.width - _MARGIN_CELLS)
        return top_text.Look(width=width, now=time.time(), ramp=self.ramp)

    def draw(self) -> None:
        """Draw what was seen last."""
        if isinstance(self.screen, Runs | OneRun):
            self.screen.draw()

    def _look_on(self) -> None:
        while self._runs():
            begun = time.thread_time()
            problem, found, close = "", None, None
            shown = self.screen
            run_id = shown.run_id if isinstance(shown, OneRun) else None
            try:
                if run_id is not None:
                    close = board.look_closely(self.source, run_id, self.look().width)
                found = board.look(self.source)
            except JobmeterError as error:
                problem = f"{error}; {error.hint}" if error.hint else str(error)
            except OSError as error:
                problem = f"{self.source.place} cannot be read: {reason_of(error)}"
            if self._runs():
                self.call_from_thread(self._take, found, close, problem)
            # a home of many busy runs is looked at less often: watching must not cost what the jobs need
            self._wake.wait(max(self._interval_seconds, _REST * (time.thread_time() - begun)))
            self._wake.clear()

    def _runs(self) -> bool:
        return self.is_running and self._exception is None and not self._exit

    def _take(self, found: Board | None, close: Close | None, problem: str) -> None:
        self.problem = problem
        if found is not None:
            self.seen, self._seen_at = found, time.time()
        if close is not None and isinstance(self.screen, OneRun) and self.screen.run_id == close.run.run_id:
            self.screen.close = close
        self.draw()


class _List(OptionList):
    """The runs to walk through; which key opens one is told at the foot."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "One run", key_display="Enter")]


class _Page(Screen[None]):
    """A screen of this app."""

    @property
    def top(self) -> Top:
        """Give the app."""
        assert isinstance(self.app, Top)  # noqa: S101  # for the type checker: there is no other app
        return self.app

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.draw()

    @abstractmethod
    def draw(self) -> None:
        """Draw what was seen last."""


class Runs(_Page):
    """What runs now, and what is wrong."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "down", "Down", key_display="j"),
        Binding("k,up", "up", "Up", key_display="k"),
        Binding("g,home", "first", show=False),
        Binding("G,end", "last", show=False),
        Binding("r", "again", "Look now"),
    ]

    def compose(self) -> ComposeResult:
        """Lay the parts out."""
        yield Static(id="head")
        yield Static(id="state")
        yield Static(id="titles")
        yield _List(id="runs")
        yield Static(id="alerts")
        yield Footer(show_command_palette=False)

    def draw(self) -> None:
        """Draw the list anew, the cursor staying on its run."""
        seen = self.top.seen
        self.query_one("#state", Static).update(self.top.state())
        if seen is None:
            self.query_one("#head", Static).update(f"jobmeter top · {self.top.source.place}")
            return
        look = self.top.look()
        self.query_one("#head", Static).update(
            Text(top_text.summary(seen, self.top.source.place), no_wrap=True)
        )
        rows = top_text.rows(seen, look)
        widths = table.fit(top_text.COLUMNS, [cells for _, cells in rows], look.width)
        self._list(rows, widths)
        alerts = top_text.alerts(seen)
        more = (
            [Cell(f"and {len(alerts) - _MOST_ALERTS} more", Style.DIM)] if len(alerts) > _MOST_ALERTS else []
        )
        self.query_one("#alerts", Static).update(_painted(alerts[:_MOST_ALERTS] + more))

    def _list(self, rows: list[tuple[str, list[Cell]]], widths: dict[int, int]) -> None:
        titles = [Cell(column.title) for column in top_text.COLUMNS]
        self.query_one("#titles", Static).update(_row(titles, widths) if rows else Text(top_text.EMPTY))
        listed = self.query_one("#runs", OptionList)
        ids = [run_id for run_id, _ in rows]
        if [option.id for option in listed.options] == ids:
            for run_id, cells in rows:
                listed.replace_option_prompt(run_id, _row(cells, widths))
            return
        at = self.chosen()
        listed.set_options([Option(_row(cells, widths), id=run_id) for run_id, cells in rows])
        if ids:
            listed.highlighted = ids.index(at) if at in ids else 0

    def chosen(self) -> str | None:
        """Name the run under the cursor."""
        option = self.query_one("#runs", OptionList).highlighted_option
        return None if option is None else option.id

    def action_down(self) -> None:
        """Go to the next run."""
        self.query_one("#runs", OptionList).action_cursor_down()

    def action_up(self) -> None:
        """Go to the run before."""
        self.query_one("#runs", OptionList).action_cursor_up()

    def action_first(self) -> None:
        """Go to the first run."""
        self.query_one("#runs", OptionList).action_first()

    def action_last(self) -> None:
        """Go to the last run."""
        self.query_one("#runs", OptionList).action_last()

    def action_again(self) -> None:
        """Look before it is time."""
        self.top.look_now()

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open the run under the cursor, by Enter or by a click."""
        if event.option.id is not None:
            await self.app.push_screen(OneRun(event.option.id))
            self.top.look_now()


def _row(cells: list[Cell], widths: dict[int, int]) -> Text:
    """Lay a row out as the plain table does, painted."""
    line = Text(no_wrap=True)
    for index, wide in widths.items():
        body, padding = table.padded(cells[index], wide)
        painted = (body, _STYLES[cells[index].style])
        parts = (padding, painted) if top_text.COLUMNS[index].right else (painted, padding)
        line.append_text(Text.assemble(*parts, table.GAP))
    return line


class OneRun(_Page):
    """One run closely: its lines, and the end of its output."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,h,left,backspace", "app.pop_screen", "Back", key_display="Esc"),
        Binding("j,down", "down", "Down", key_display="j"),
        Binding("k,up", "up", "Up", key_display="k"),
    ]

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self.run_id = run_id
        self.close: Close | None = None

    def compose(self) -> ComposeResult:
        """Lay the parts out."""
        yield Static(id="state")
        with VerticalScroll(id="close"):
            yield Static(id="page")
        yield Footer(show_command_palette=False)

    def draw(self) -> None:
        """Draw the run as it was seen last."""
        self.query_one("#state", Static).update(self.top.state())
        if self.close is None:
            return
        jobs = () if self.top.seen is None else self.top.seen.living.jobs
        progress = next((job.progress for job in jobs for run in job.runs if run.run_id == self.run_id), None)
        lines = top_text.close_up(self.close, progress, self.top.look(), self.size.height - 2)
        self.query_one("#page", Static).update(_painted(lines))

    def action_down(self) -> None:
        """Scroll on."""
        self.query_one("#close", VerticalScroll).scroll_down(animate=False)

    def action_up(self) -> None:
        """Scroll back."""
        self.query_one("#close", VerticalScroll).scroll_up(animate=False)
