"""Plots as image files: the size asked for, something on it, the words that matter, no window."""

import io
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.support import views
from tests.support.views import GIB, MIB, counter, event, gauge, process

from jobmeter.exporters import plot_figure
from jobmeter.model.panel import Chart, Line, Panel, Phase, Quantity, Role
from jobmeter.model.run import Headline, Limits
from jobmeter.service import plotting

ROOT = Path(__file__).parents[3]


def chart(**facts: object) -> Chart:
    return plotting.describe(views.build_run(**facts))


def svg(made: Chart, theme: str = "light") -> str:
    return plot_figure.render(made, suffix="svg", theme=theme, width=None, height=None).decode()


def png(
    made: Chart, theme: str = "light", width: int | None = None, height: int | None = None
) -> Image.Image:
    content = plot_figure.render(made, suffix="png", theme=theme, width=width, height=height)
    return Image.open(io.BytesIO(content)).convert("RGB")


def share_of(image: Image.Image, colour: tuple[int, int, int]) -> float:
    """Measure how much of an image has about a colour."""
    near = np.abs(np.asarray(image, dtype=int) - np.array(colour)) < 24
    return float(near.all(axis=2).mean())


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (641, 487), (2500, 1777)])
def test_an_image_has_the_size_asked_for(width: int, height: int) -> None:
    assert png(chart(), width=width, height=height).size == (width, height)


def test_an_image_without_a_size_is_as_wide_as_usual_and_as_high_as_its_panels() -> None:
    tall = png(chart())
    low = png(replace(chart(), panels=chart().panels[:1]))
    assert tall.width == low.width == 1400
    assert tall.height > 2 * low.height


def test_an_image_is_not_blank_and_shows_the_main_line() -> None:
    image = png(chart())
    assert 0.5 < share_of(image, (255, 255, 255)) < 0.95
    assert share_of(image, (0x1F, 0x6F, 0xE5)) > 0.0005


def test_the_dark_theme_is_dark() -> None:
    assert share_of(png(chart(), theme="dark"), (0x0F, 0x14, 0x1B)) > 0.5


def test_a_limit_in_sight_is_drawn_in_its_colour() -> None:
    red = (0xD6, 0x30, 0x3C)
    assert share_of(png(chart()), red) == 0.0
    assert share_of(png(chart(limits=Limits(memory_bytes=512 * MIB))), red) > 0.0002


def test_the_words_name_methods_peaks_and_limits() -> None:
    text = svg(chart(limits=Limits(cpus=2.5, memory_bytes=64 * GIB), host="node7"))
    for words in (
        "CPU, cores",
        "used (cgroup_cputime)",
        "peak 2 at 2s",
        "limit 2.5",
        "unreclaimable (cgroup_mem_unreclaimable)",
        "with page cache (cgroup_mem_current)",
        "far below the limit 64 GiB",
        "write peak 128 MiB/s at 4s",
        "completed, exit 0",
        "node7",
    ):
        assert words in text


def test_a_peak_between_samples_is_said() -> None:
    peak = Headline(value=900 * MIB, low=0, high=0, keys=("wait_maxrss",), exact=False)
    assert "900 MiB between samples" in svg(chart(headline={"memory_peak_bytes": peak}))


def test_dollars_in_a_command_are_no_mathematics() -> None:
    text = svg(chart(name="echo $x_1^2$ {a} \\frac"))
    assert "echo $x_1^2$ {a} \\frac" in text


def test_a_name_the_font_cannot_write_is_no_warning() -> None:
    assert png(chart(name="測定 🚀 \ud83d")).width == 1400


def test_a_long_name_stays_on_the_page() -> None:
    made = chart(name="x" * 5000)
    assert "x" * 200 not in svg(made)


def test_events_phases_and_notes_are_on_the_page() -> None:
    made = plotting.describe(
        views.view(
            list(views.build_run().series.values()), events=[event(2, "oom_kill"), event(4, "timeout")]
        )
    )
    made = replace(made, phases=(Phase(start=1.0, end=2.0, label="stopped"),))
    text = svg(made)
    assert "1  2s OOM kill" in text
    assert "2  4s timeout" in text
    assert "no pressure panel: not measured" in text


def test_a_stack_is_drawn_under_its_total() -> None:
    points = [(10.0 * n, 5.0) for n in range(1, 13)]
    series = [
        counter("cgroup_cputime", [(10.0 * n, 8.0) for n in range(1, 13)], span=10.0),
        *(counter("proc_cputime", points, f"{n}@1", span=10.0) for n in range(1, 3)),
        *(gauge("proc_rss", points, f"{n}@1") for n in range(1, 3)),
    ]
    made = plotting.describe(
        views.view(
            series,
            (views.CPU, views.PROCESS_CPU, views.PROCESS_RSS),
            processes=[process("1@1", "cc1plus"), process("2@1", "python train.py")],
            wall_seconds=120.0,
        )
    )
    text = svg(made)
    assert "CPU by command, cores" in text
    assert "python train.py" in text
    assert "all (cgroup_cputime)" in text
    assert share_of(png(made), (0x1F, 0x6F, 0xE5)) < 0.3


def test_folded_samples_are_drawn_with_their_extremes() -> None:
    times = tuple(float(n) for n in range(50))
    line = Line(
        label="used",
        key="k",
        times=times,
        values=(5.0,) * 50,
        low=(1.0,) * 50,
        high=(9.0,) * 50,
        role=Role.MAIN,
    )
    flat = replace(line, low=None, high=None)
    pictures = []
    for drawn in (line, flat):
        made = Panel(name="p", title="p", quantity=Quantity.PLAIN, lines=(drawn,), top=9.0)
        pictures.append(png(replace(chart(), panels=(made,), seconds=49.0)))
    band, plain = (share_of(picture, (0xC7, 0xDB, 0xF8)) for picture in pictures)
    assert band > 0.1
    assert plain < 0.01


def test_a_run_with_nothing_to_plot_is_a_page_with_one_sentence() -> None:
    made = plotting.describe(views.view([], wall_seconds=0.01))
    text = svg(made)
    assert "no sample was taken in 10 ms, which is too little to plot" in text
    assert png(made).height < 400


def test_the_same_run_gives_the_same_bytes() -> None:
    for suffix in plot_figure.METADATA:
        first, second = (
            plot_figure.render(chart(), suffix=suffix, theme="light", width=700, height=500) for _ in range(2)
        )
        assert first == second


def test_a_pdf_is_a_pdf_of_one_page() -> None:
    content = plot_figure.render(chart(), suffix="pdf", theme="light", width=None, height=None)
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", content)) == 1


def test_no_window_toolkit_and_no_pyplot_is_loaded_and_no_home_is_needed() -> None:
    script = (
        "import sys; from tests.unit.exporters.test_plot_figure import chart, png; png(chart());"
        "print([m for m in ('matplotlib.pyplot', 'tkinter', 'PyQt5', 'gi') if m in sys.modules])"
    )
    environ = {"HOME": "/proc/absent", "PATH": "/usr/bin", "MPLBACKEND": "tkagg"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environ, cwd=ROOT, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
