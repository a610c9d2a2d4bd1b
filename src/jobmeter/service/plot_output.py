"""A described plot into what is shown or written: the renderer is chosen by the kind of output.

Renderers are imported when asked for: matplotlib alone takes longer to load than a terminal plot to draw.
"""

from jobmeter.model.panel import Chart

SUFFIXES = (".html", ".pdf", ".png", ".svg")
UNICODE_SAMPLE = "⣿◆╌"


def as_text(chart: Chart, *, columns: int, rows: int | None, colour: bool, encoding: str) -> str:
    """Draw for a terminal; one that cannot show braille gets ASCII."""
    from jobmeter.exporters import plot_terminal

    unicode = _can_show(UNICODE_SAMPLE, encoding)
    return plot_terminal.render(chart, columns=columns, rows=rows, colour=colour, unicode=unicode)


def as_file(
    chart: Chart,
    suffix: str,
    *,
    theme: str | None = None,
    width: int | None = None,
    height: int | None = None,
) -> bytes:
    """Draw the content of a file of one of `SUFFIXES`; a page fits its window and has no size."""
    if suffix == ".html":
        from jobmeter.exporters import plot_html

        return plot_html.render(chart, theme=theme).encode()
    from jobmeter.exporters import plot_figure

    return plot_figure.render(
        chart, suffix=suffix.removeprefix("."), theme=theme or "light", width=width, height=height
    )


def _can_show(sample: str, encoding: str) -> bool:
    try:
        sample.encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True
