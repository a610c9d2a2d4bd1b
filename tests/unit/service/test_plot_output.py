"""The kind of output chooses the renderer."""

import pytest
from tests.support import views

from jobmeter.service import plot_output, plotting


@pytest.mark.parametrize(
    ("encoding", "sign"), [("utf-8", "\u25c6"), ("latin-1", "*"), ("ascii", "*"), ("no such encoding", "*")]
)
def test_a_terminal_gets_what_its_encoding_can_show(encoding: str, sign: str) -> None:
    chart = plotting.describe(views.build_run())
    text = plot_output.as_text(chart, columns=80, rows=None, colour=False, encoding=encoding)
    assert f"{sign} peak 2 at 2s" in text


@pytest.mark.parametrize(
    ("suffix", "begins"),
    [(".html", b"<!doctype html>"), (".pdf", b"%PDF"), (".png", b"\x89PNG"), (".svg", b"<?xml")],
)
def test_a_suffix_chooses_the_kind_of_file(suffix: str, begins: bytes) -> None:
    assert suffix in plot_output.SUFFIXES
    assert plot_output.as_file(plotting.describe(views.build_run()), suffix).startswith(begins)
