"""Cells and dots: what enters the grid is printable, what is drawn is where it belongs."""

from jobmeter.exporters.plot_canvas import Canvas, Raster, printable


def test_escape_sequences_and_broken_bytes_are_made_harmless() -> None:
    assert (
        printable("a\x1b[2Jb\udcffc\nd\te") == "a\N{REPLACEMENT CHARACTER}[2Jb\N{REPLACEMENT CHARACTER}c d e"
    )


def test_text_beyond_the_edge_is_left_out() -> None:
    canvas = Canvas(4, 1)
    canvas.put(2, 0, "abc")
    canvas.put(0, 5, "below")
    canvas.put(-1, 0, "xy")
    assert canvas.lines(colour=False) == ["y ab"]


def test_a_wide_letter_takes_two_cells() -> None:
    canvas = Canvas(6, 1)
    assert canvas.put(0, 0, "測a") == 3
    assert canvas.lines(colour=False) == ["測a"]


def test_styles_are_written_once_per_stretch_and_reset() -> None:
    canvas = Canvas(8, 1)
    canvas.put(0, 0, "ab", "1")
    canvas.put(2, 0, "cd", "31")
    canvas.put(4, 0, "ef")
    assert canvas.lines(colour=True) == ["\x1b[1mab\x1b[0m\x1b[31mcd\x1b[0mef"]
    assert canvas.lines(colour=False) == ["abcdef"]


def test_a_style_at_the_end_of_a_row_is_reset() -> None:
    canvas = Canvas(3, 1)
    canvas.put(0, 0, "ab", "1")
    assert canvas.lines(colour=True) == ["\x1b[1mab\x1b[0m"]


def test_dots_become_braille_from_the_bottom_left() -> None:
    raster = Raster(1, 1)
    raster.dot(0, 0, "")
    assert raster.char(0, 0) == "⡀"
    raster.dot(1, 3, "")
    assert raster.char(0, 0) == "⡈"


def test_dots_become_ascii_where_braille_cannot_be_shown() -> None:
    raster = Raster(3, 1, braille=False)
    raster.dot(0, 0, "")
    raster.dot(1, 1, "")
    raster.dot(2, 0, "")
    raster.dot(2, 1, "")
    assert [raster.char(column, 0) for column in range(3)] == [".", "'", ":"]


def test_dots_outside_are_ignored() -> None:
    raster = Raster(1, 1)
    raster.dot(2, 0, "")
    raster.dot(0, -1, "")
    assert raster.char(0, 0) == ""


def test_a_stroke_leaves_no_column_out() -> None:
    raster = Raster(20, 2)
    x = 0.0
    while x < 38:
        raster.stroke((x, 3), (x + 1.05, 3), "")
        x += 1.05
    assert all(raster.char(column, 1) for column in range(19))


def test_a_dashed_line_is_broken_where_flat_and_whole_where_steep() -> None:
    flat = Raster(8, 2)
    flat.stroke((0, 0), (15, 0), "", dash=2)
    assert [bool(flat.char(column, 1)) for column in range(8)] == [True, False] * 4
    steep = Raster(8, 2)
    steep.stroke((2, 0), (2, 7), "", dash=2)
    assert steep.char(1, 0) == steep.char(1, 1) == "⡇"
