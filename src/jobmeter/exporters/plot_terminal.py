"""Plots in the terminal: braille charts that fit its width and height, readable without colour.

Several lines of a panel carry letters at their right end, because a terminal may have no colours and a
reader may not see them. A stack cannot be drawn in dots: who used it is said in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jobmeter.exporters import plot_canvas, plot_legend, plot_strokes, plot_ticks
from jobmeter.exporters.plot_canvas import Canvas, printable
from jobmeter.model import text as texts
from jobmeter.model.panel import Chart, Line, Mark, Panel, Role

SMALLEST_COLUMNS = 40
TWO_COLUMNS_FROM = 132
GUTTER = 3
INDENT = 2
COMPACT_BELOW = 30
COLUMNS_PER_MOMENT = 10
"""Room for the longest moment on an axis and some floor after it."""
NATURAL_ROWS = 8
"""Height of a panel where the output has no height: a file or a pipe."""
SMALLEST_ROWS = 3
LARGEST_ROWS = 16

BOLD, DIM, RED = "1", "38;5;245", "38;5;167"
LINE_STYLES = ("38;5;39", "38;5;208", "38;5;36", "38;5;135", "38;5;168", "38;5;143")
"""Seen on light and on dark, and told apart by people who do not tell red from green."""


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters a plot is drawn with."""

    wall: str
    tick: str
    corner: str
    floor: str
    limit: str
    peak: str
    between: str
    mark: str
    dot: str
    peers: str


UNICODE = Glyphs("│", "┤", "└", "─", "╌", "◆", "◇", "┊", "·", "⠤")
ASCII = Glyphs("|", "+", "+", "-", "-", "*", "o", ":", "-", "..")

TO_ASCII = str.maketrans({"…": "~", "·": "-", "°": "o", "µ": "u"})

Item = tuple[str, str]
"""A piece of text and its style."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How this terminal is drawn on."""

    columns: int
    rows: int | None
    """None where the output has no height."""
    colour: bool
    unicode: bool

    @property
    def compact(self) -> bool:
        """Tell whether rows are scarce: then every row goes to the panels."""
        return self.rows is not None and self.rows < COMPACT_BELOW

    @property
    def glyphs(self) -> Glyphs:
        """Choose the characters this output can show."""
        return UNICODE if self.unicode else ASCII


def render(chart: Chart, *, columns: int, rows: int | None, colour: bool, unicode: bool) -> str:
    """Draw a chart as text of so many columns and rows; panels that do not fit are left out and named."""
    style = Style(columns=max(columns, SMALLEST_COLUMNS), rows=rows, colour=colour, unicode=unicode)
    panels = [made for made in chart.panels if not _stacked(made)]
    head = _head(chart, style)
    foot = _foot(chart, style)
    shown, height = _that_fit(chart, panels, style, len(head) + len(foot))
    if len(shown) < len(panels):
        shown, height = _that_fit(chart, panels, style, len(head) + len(foot) + 1)
        names = ", ".join(made.title for made in panels[len(shown) :])
        room = texts.cut(f"{style.glyphs.dot} no room for: {names} (use --height or -o FILE)", style.columns)
        foot = [*foot, [(room, DIM)]]
    blocks = _columns(shown, style)
    canvas = Canvas(style.columns, len(head) + (height if shown else 0) + len(foot))
    _put_rows(canvas, head, 0)
    _draw_blocks(canvas, chart, blocks, style, (len(head), height))
    _put_rows(canvas, foot, canvas.height - len(foot))
    text = "\n".join(canvas.lines(colour=style.colour)) + "\n"
    return text if style.unicode else text.translate(TO_ASCII).encode("ascii", "replace").decode("ascii")


def _stacked(made: Panel) -> bool:
    return any(line.role is Role.STACKED for line in made.lines)


def _head(chart: Chart, style: Style) -> list[list[Item]]:
    dot = f" {style.glyphs.dot} "
    if style.compact:
        tail = printable(dot + dot.join(chart.facts[:2]))
        title = texts.cut(printable(chart.title), style.columns - texts.width(tail))
        return [[(title, BOLD), (tail, DIM)]]
    title = texts.cut(printable(chart.title), style.columns)
    facts = texts.cut(printable(dot.join((chart.run_id, *chart.facts))), style.columns)
    return [[(title, BOLD)], [(facts, DIM)]]


def _foot(chart: Chart, style: Style) -> list[list[Item]]:
    rows: list[list[Item]] = []
    dot = style.glyphs.dot
    if chart.panels and chart.marks:
        marks = [_mark_item(chart, number, mark) for number, mark in enumerate(chart.marks, 1)]
        rows += _flow(marks, style.columns)
    if chart.panels and chart.phases:
        phases = [
            (f"{dot} {p.label} {plot_ticks.moment(p.start)} to {plot_ticks.moment(p.end)}", DIM)
            for p in chart.phases
        ]
        rows += _flow(phases, style.columns)
    who = [
        f"CPU by command: {made.note}" for made in chart.panels if made.name == "cpu_by_command" and made.note
    ]
    if style.compact and chart.panels:
        sentences = [*who, "; ".join(chart.notes)] if chart.notes else who
        return rows + [[(texts.cut(printable(f"{dot} {words}"), style.columns), DIM)] for words in sentences]
    for words in (*who, *chart.notes):
        rows += _wrap(f"{dot} {words}" if chart.panels else words, style.columns, DIM if chart.panels else "")
    return rows


def _mark_item(chart: Chart, number: int, mark: Mark) -> Item:
    text = f"{_mark_sign(number)} {plot_ticks.where(chart, mark.seconds)} {mark.label}"
    return printable(text), RED if mark.severe else ""


def _mark_sign(number: int) -> str:
    return str(number) if number < 10 else chr(ord("A") + (number - 10) % 26)


def _wrap(text: str, width: int, style: str) -> list[list[Item]]:
    return _flow([(word, style) for word in printable(text).split(" ")], width, space=1)


def _flow(items: Sequence[Item], width: int, space: int = 3) -> list[list[Item]]:
    """Set items one after the other, wrapped into rows; continued rows are indented."""
    rows: list[list[Item]] = [[]]
    used = 0
    for text, style in items:
        fitting = texts.cut(text, width - INDENT)
        gap = space if rows[-1] else 0
        if rows[-1] and used + gap + texts.width(fitting) > width:
            rows.append([])
            used, gap = 0, INDENT
        rows[-1].append((" " * gap + fitting, style))
        used += gap + texts.width(fitting)
    return rows


def _put_rows(canvas: Canvas, rows: list[list[Item]], y: int, x: int = 0) -> None:
    for offset, row in enumerate(rows):
        at = x
        for text, style in row:
            blank = len(text) - len(text.lstrip(" "))
            at = canvas.put(at, y + offset, text[:blank])
            at = canvas.put(at, y + offset, text[blank:], style)


def _columns(panels: Sequence[Panel], style: Style) -> list[list[Panel]]:
    """Deal the panels into one column, or into two side by side where the terminal is wide."""
    if not panels:
        return []
    if style.columns < TWO_COLUMNS_FROM or len(panels) < 3:
        return [list(panels)]
    return [list(panels[0::2]), list(panels[1::2])]


def _block_width(blocks: int, style: Style) -> int:
    return (style.columns - GUTTER * (blocks - 1)) // max(blocks, 1)


def _that_fit(chart: Chart, panels: list[Panel], style: Style, taken: int) -> tuple[list[Panel], int]:
    """Choose how many panels there is room for, and how many rows they have together."""
    for count in range(len(panels), 0, -1):
        blocks = _columns(panels[:count], style)
        width = _block_width(len(blocks), style)
        fixed = [
            sum(len(_legend(chart, made, width, style)) for made in block) + 1 + bool(chart.marks)
            for block in blocks
        ]
        tallest = max(len(block) for block in blocks)
        if style.rows is None:
            return panels[:count], max(fixed) + tallest * NATURAL_ROWS
        room = style.rows - taken
        if room >= max(f + SMALLEST_ROWS * len(b) for f, b in zip(fixed, blocks, strict=True)) or count == 1:
            most = max(f + LARGEST_ROWS * len(b) for f, b in zip(fixed, blocks, strict=True))
            return panels[:count], max(min(room, most), fixed[0] + SMALLEST_ROWS)
    return [], 0


def _draw_blocks(
    canvas: Canvas, chart: Chart, blocks: list[list[Panel]], style: Style, place: tuple[int, int]
) -> None:
    top, height = place
    width = _block_width(len(blocks), style)
    for index, block in enumerate(blocks):
        left = index * (width + GUTTER)
        legends = [_legend(chart, made, width, style) for made in block]
        free = height - sum(len(legend) for legend in legends) - 1 - bool(chart.marks)
        # the first panels, CPU and memory, get the rows that do not divide
        heights = [free // len(block) + (number < free % len(block)) for number in range(len(block))]
        labels = [_labels(made, rows, style) for made, rows in zip(block, heights, strict=True)]
        gutter = max(texts.width(text) for label in labels for text in label.values()) + 1
        letters = 2 if any(_lettered(made) for made in block) else 0
        plot = plot_strokes.Area(left=left + gutter + 1, width=width - gutter - 1 - letters, rows=0, top=top)
        y = top
        for made, legend, rows, label in zip(block, legends, heights, labels, strict=True):
            _put_rows(canvas, legend, y, left)
            area = plot_strokes.Area(left=plot.left, width=plot.width, rows=rows, top=y + len(legend))
            _draw_panel(canvas, chart, made, area, style)
            _draw_wall(canvas, area, label, style)
            y += len(legend) + rows
        _draw_time_axis(canvas, chart, plot.left, y, plot.width, style)


def _legend(chart: Chart, made: Panel, width: int, style: Style) -> list[list[Item]]:
    """Name the panel, its lines with their keys, its peak and its limit."""
    words = [
        (printable(_legend_text(made, item, style)), _legend_style(made, item))
        for item in plot_legend.items(made, chart)
    ]
    return _flow(words, width, space=2 if style.compact else 3)


def _legend_text(made: Panel, item: plot_legend.Item, style: Style) -> str:
    glyphs = style.glyphs
    signs = {
        plot_legend.Sign.PEAK: glyphs.peak,
        plot_legend.Sign.BETWEEN: glyphs.between,
        plot_legend.Sign.LIMIT: glyphs.limit,
    }
    letter = _letter(item.line) if item.line is not None and _lettered(made) else ""
    if item.sign is plot_legend.Sign.PEERS:
        letter = glyphs.peers
    return " ".join(part for part in (signs.get(item.sign, letter), item.words) if part)


def _legend_style(made: Panel, item: plot_legend.Item) -> str:
    if item.line is not None:
        return _line_style(made, item.line)
    return {plot_legend.Sign.TITLE: BOLD, plot_legend.Sign.LIMIT: RED}.get(item.sign, "")


def _letter(number: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[number % 26]


def _line_style(made: Panel, number: int) -> str:
    if made.lines[number].role in (Role.FAINT, Role.PEER):
        return DIM
    return LINE_STYLES[number % len(LINE_STYLES)]


def _lettered(made: Panel) -> bool:
    """Tell whether lines need letters: those of other ranks are named together and have none."""
    return sum(line.role is not Role.PEER for line in made.lines) > 1


def _labels(made: Panel, rows: int, style: Style) -> dict[int, str]:
    """Give the tick label of each row of a panel that has one."""
    scale = _scale(made, 1.0, style)
    labels: dict[int, str] = {}
    for value, words in plot_ticks.panel_ticks(made, max(1, rows // 2 - (rows > 2))):
        labels.setdefault(scale.row(value, rows), words)
    return labels


def _scale(made: Panel, seconds: float, style: Style) -> plot_strokes.Scale:
    return plot_strokes.Scale(
        seconds=seconds,
        top=made.top,
        bottom=made.bottom,
        logarithmic=made.logarithmic,
        braille=style.unicode,
    )


def _draw_wall(canvas: Canvas, area: plot_strokes.Area, labels: dict[int, str], style: Style) -> None:
    for row in range(area.rows):
        label = labels.get(row, "")
        canvas.put(area.left - 2 - texts.width(label), area.top + row, label, DIM)
        canvas.put(area.left - 1, area.top + row, style.glyphs.tick if label else style.glyphs.wall, DIM)


def _draw_panel(canvas: Canvas, chart: Chart, made: Panel, area: plot_strokes.Area, style: Style) -> None:
    scale = _scale(made, chart.seconds or 1.0, style)
    for mark in chart.marks:
        column = area.left + scale.column(mark.seconds, area.width)
        for row in range(area.rows):
            canvas.put(column, area.top + row, style.glyphs.mark, RED if mark.severe else DIM)
    for limit in made.limits:
        if limit.value <= made.top:
            row = area.top + scale.row(limit.value, area.rows)
            canvas.put(area.left, row, style.glyphs.limit * area.width, RED)
    raster = plot_canvas.Raster(area.width, area.rows, braille=style.unicode)
    # the main line last: where lines cross, its colour is the one seen
    order = sorted(range(len(made.lines)), key=lambda n: (_weight(made.lines[n]), -n))
    for number in order:
        plot_strokes.draw(raster, made.lines[number], scale, _line_style(made, number), number)
    plot_strokes.transfer(canvas, raster, area)
    if _lettered(made):
        _draw_letters(canvas, made, area, scale)
    for peak in made.peaks:
        column = scale.column(peak.seconds if peak.seconds is not None else chart.seconds, area.width)
        sign = style.glyphs.peak if peak.sampled else style.glyphs.between
        canvas.put(area.left + column, area.top + scale.row(peak.value, area.rows), sign, BOLD)


def _weight(line: Line) -> int:
    return 0 if line.role is Role.PEER else 2 if line.role is Role.MAIN else 1


def _draw_letters(canvas: Canvas, made: Panel, area: plot_strokes.Area, scale: plot_strokes.Scale) -> None:
    """Write each line's letter beside its last value, in the order of the values where they meet."""
    ends = [
        (next((value for value in reversed(line.values) if value is not None), 0.0), number)
        for number, line in enumerate(made.lines)
        if line.role is not Role.PEER
    ]
    if len(ends) > area.rows:
        return  # some letters without the others would mislead
    ranked = sorted(ends, key=lambda end: (-end[0], end[1]))
    rows: list[int] = []
    for value, _ in ranked:
        rows.append(max(scale.row(value, area.rows), rows[-1] + 1 if rows else 0))
    for index in range(len(rows) - 1, -1, -1):
        rows[index] = min(rows[index], area.rows - (len(rows) - index))
    for row, (_, number) in zip(rows, ranked, strict=True):
        canvas.put(area.left + area.width + 1, area.top + row, _letter(number), _line_style(made, number))


def _draw_time_axis(canvas: Canvas, chart: Chart, left: int, y: int, width: int, style: Style) -> None:
    scale = plot_strokes.Scale(seconds=chart.seconds or 1.0, top=1.0, braille=style.unicode)
    canvas.put(left - 1, y, style.glyphs.corner + style.glyphs.floor * width, DIM)
    for seconds, text in plot_ticks.axis_ticks(chart, max(2, width // COLUMNS_PER_MOMENT)):
        at = left + scale.column(seconds, width)
        begin = min(max(at - len(text) // 2, left), left + width - len(text))
        canvas.put(begin, y, text, DIM)
    last = -1
    for number, mark in enumerate(chart.marks, 1):
        # marks of one column stand beside one another
        last = at = max(left + scale.column(mark.seconds, width), last + 1)
        canvas.put(at, y + 1, _mark_sign(number), RED if mark.severe else DIM)
