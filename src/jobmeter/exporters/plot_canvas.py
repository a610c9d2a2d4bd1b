"""A grid of characters with styles, and a raster of dots that become braille (or ASCII) characters.

Text from a run may hold escape sequences, newlines, lone surrogates or wide characters: what enters the
grid is one printable character per cell.
"""

import math
from dataclasses import dataclass, field

from jobmeter.model import text as texts

RESET = "\x1b[0m"
BRAILLE_BASE = 0x2800
BRAILLE_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bit of the dot in row 0 to 3 and column 0 to 1 of a braille character."""
ASCII_DOTS = " '.:"


def printable(text: str) -> str:
    """Replace what a terminal would act on instead of showing; lines of a script become one."""
    spaced = text.replace("\n", " ").replace("\t", " ")
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in spaced)


@dataclass(slots=True)
class Canvas:
    """Characters and their styles; a style is the parameters of an SGR sequence, or empty."""

    width: int
    height: int
    chars: list[list[str]] = field(init=False)
    styles: list[list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.chars = [[" "] * self.width for _ in range(self.height)]
        self.styles = [[""] * self.width for _ in range(self.height)]

    def put(self, x: int, y: int, text: str, style: str = "") -> int:
        """Write text from a cell on, cut at the edge, and return the cell after it."""
        for char in text:
            cells = texts.width(char)
            if cells and 0 <= y < self.height and 0 <= x <= self.width - cells:
                self.chars[y][x] = char
                self.styles[y][x] = style
                if cells == 2:
                    self.chars[y][x + 1] = ""
            x += cells
        return x

    def lines(self, *, colour: bool) -> list[str]:
        """Render the rows, without blanks at their ends."""
        return [self._row(y, colour=colour) for y in range(self.height)]

    def _row(self, y: int, *, colour: bool) -> str:
        plain = "".join(self.chars[y]).rstrip()
        if not colour:
            return plain
        length = max((x + 1 for x in range(self.width) if self.chars[y][x].strip()), default=0)
        parts: list[str] = []
        current = ""
        for x in range(length):
            style = self.styles[y][x]
            if style != current:
                parts.append((RESET if current else "") + (f"\x1b[{style}m" if style else ""))
                current = style
            parts.append(self.chars[y][x])
        return "".join(parts) + (RESET if current else "")


@dataclass(slots=True)
class Raster:
    """Dots finer than characters: 2 by 4 in a braille cell, 1 by 2 in an ASCII one."""

    columns: int
    rows: int
    braille: bool = True
    bits: list[list[int]] = field(init=False)
    styles: list[list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.bits = [[0] * self.columns for _ in range(self.rows)]
        self.styles = [[""] * self.columns for _ in range(self.rows)]

    @property
    def width(self) -> int:
        """Count the dots of a row."""
        return self.columns * (2 if self.braille else 1)

    @property
    def height(self) -> int:
        """Count the dots of a column."""
        return self.rows * (4 if self.braille else 2)

    def dot(self, x: int, y: int, style: str) -> None:
        """Set a dot; y counts from the bottom. The last style wins the cell."""
        if not (0 <= x < self.width and 0 <= y < self.height):
            return
        down = self.height - 1 - y
        if self.braille:
            row, column, bit = down // 4, x // 2, BRAILLE_DOTS[down % 4][x % 2]
        else:
            row, column, bit = down // 2, x, 1 + down % 2
        self.bits[row][column] |= bit
        self.styles[row][column] = style

    def char(self, column: int, row: int) -> str:
        """Give the character of a cell; empty where no dot is set."""
        bits = self.bits[row][column]
        if not bits:
            return ""
        return chr(BRAILLE_BASE + bits) if self.braille else ASCII_DOTS[bits]

    def stroke(self, begin: tuple[float, float], end: tuple[float, float], style: str, dash: int = 1) -> None:
        """Draw a straight line between two points, dashed where it is flat: a spike is never left out."""
        (x0, y0), (x1, y1) = begin, end
        steps = max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0))))
        steep = abs(y1 - y0) > abs(x1 - x0)
        for step in range(steps + 1):
            x, y = round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps)
            if steep or (x // 2) % dash == 0:
                self.dot(x, y, style)
