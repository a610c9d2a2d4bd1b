"""Plots in the terminal: they fit, they name their methods, they say what is missing."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.support import views
from tests.support.views import GIB, MIB, event, gauge

from jobmeter.exporters import plot_terminal, plot_ticks
from jobmeter.model.panel import Chart, Line, Panel, Phase, Quantity, Role
from jobmeter.model.run import CommandShare, Headline, Limits
from jobmeter.service import plotting

STYLED = re.compile("\x1b\\[[0-9;]*m")


def chart(**facts: object) -> Chart:
    return plotting.describe(views.build_run(**facts))


def draw(
    made: Chart, columns: int = 100, rows: int | None = None, *, colour: bool = False, unicode: bool = True
) -> list[str]:
    return plot_terminal.render(made, columns=columns, rows=rows, colour=colour, unicode=unicode).splitlines()


def a_line(values: list[float | None], **facts: object) -> Line:
    times = tuple(float(index) for index in range(len(values)))
    plain = Line(label="used", key="k", times=times, values=tuple(values))
    return replace(plain, **facts)  # type: ignore[arg-type]  # fields of Line by name


def alone(line: Line, top: float = 10.0) -> Chart:
    made = Panel(name="p", title="p", quantity=Quantity.PLAIN, lines=(line,), top=top)
    return Chart(
        run_id="r",
        title="t",
        status="completed",
        facts=(),
        started_at=None,
        seconds=line.times[-1],
        panels=(made,),
    )


def plot_rows(rows: list[str]) -> list[str]:
    """Take what stands right of the axis of the only panel, top row first."""
    return [re.split("[│┤]", row, maxsplit=1)[1] for row in rows if re.search("[│┤]", row)]


def test_the_legend_names_the_method_of_every_line() -> None:
    text = "\n".join(draw(chart()))
    assert "CPU, cores   used (cgroup_cputime)" in text
    assert "memory   a unreclaimable (cgroup_mem_unreclaimable)   b sum of RSS (proc_rss_total)" in text
    assert "c with page cache (cgroup_mem_current)" in text
    assert "a read (wait_read_bytes)   b write (wait_write_bytes)" in text


def test_the_peak_is_said_and_marked() -> None:
    rows = draw(chart())
    assert "◆ peak 2 at 2s" in rows[2]
    assert sum("◆" in row for row in rows[3:11]) == 1


def test_a_limit_in_sight_is_drawn_and_named() -> None:
    rows = draw(chart(limits=Limits(cpus=2.5), context={"limits": {"cpus_source": "affinity"}}))
    assert "╌ limit 2.5 (affinity)" in rows[2]
    assert "╌╌╌╌╌╌╌╌╌╌" in rows[3]


def test_a_limit_far_away_is_named_but_not_drawn() -> None:
    text = "\n".join(draw(chart(limits=Limits(memory_bytes=64 * GIB))))
    assert "far below the limit 64 GiB" in text
    assert "╌" not in text


def test_a_peak_between_samples_has_its_own_sign() -> None:
    peak = Headline(value=900 * MIB, low=0, high=0, keys=("wait_maxrss",), exact=False)
    text = "\n".join(draw(chart(headline={"memory_peak_bytes": peak})))
    assert "◇ 900 MiB between samples" in text
    assert text.count("◇") == 2


@pytest.mark.parametrize(("columns", "rows"), [(80, 23), (140, 39), (60, 15), (200, 60), (50, 15)])
def test_a_plot_fits_the_terminal(columns: int, rows: int) -> None:
    made = chart(name="a rather long name " * 10, limits=Limits(cpus=4.0, memory_bytes=512 * MIB))
    drawn = draw(made, columns, rows)
    assert len(drawn) <= rows
    assert max(cell_len(row) for row in drawn) <= columns


def test_panels_that_do_not_fit_are_named() -> None:
    drawn = draw(chart(), 80, 15)
    assert drawn[-1] == "· no room for: IO, processes (use --height or -o FILE)"
    assert not any(row.startswith("processes") for row in drawn)


def test_a_wide_terminal_shows_two_panels_side_by_side() -> None:
    drawn = draw(chart(), 140, 39)
    assert drawn[2].startswith("CPU, cores")
    assert "memory   a unreclaimable" in drawn[2]


def test_a_pipe_gets_the_natural_height_of_every_panel() -> None:
    drawn = draw(chart(), 80, None)
    assert sum(bool(re.match(r"^ *\S* ?\S* ?[│┤]", row)) for row in drawn) == 4 * 8


def test_without_colour_there_is_not_one_escape_sequence() -> None:
    assert "\x1b" not in "\n".join(draw(chart()))


def test_colour_changes_nothing_but_colour() -> None:
    coloured = draw(chart(), colour=True)
    assert any("\x1b[38;5;39m" in row for row in coloured)
    assert [STYLED.sub("", row).rstrip() for row in coloured] == draw(chart())


def test_lines_of_one_panel_carry_letters_in_the_order_of_their_ends() -> None:
    rows = draw(chart())
    begin = next(index for index, row in enumerate(rows) if row.startswith("memory")) + 2
    letters = [row[-1] for row in rows[begin : begin + 8] if row[-1:] in ("a", "b", "c") and row[-2] == " "]
    assert letters == ["c", "b", "a"]


def test_an_ascii_terminal_gets_ascii() -> None:
    made = chart(
        name="naïve … job",
        by_command=(
            CommandShare(command="cc1plus", cpu_seconds=2.0),
            CommandShare(command="as", cpu_seconds=1.0),
        ),
        limits=Limits(cpus=2.5),
    )
    text = "\n".join(draw(made, unicode=False))
    assert text.isascii()
    assert "* peak 2 at 2s" in text
    assert "na?ve ~ job" in text


def test_a_higher_value_is_drawn_higher() -> None:
    rows = plot_rows(draw(alone(a_line([0.0, 0.0, 10.0, 10.0]))))
    assert rows[0].rstrip()[-1] != " "
    assert rows[0][:20].strip() == ""
    assert rows[-1][0] != " "


def test_a_break_is_left_blank() -> None:
    rows = plot_rows(draw(alone(a_line([5.0, 5.0, None, None, 5.0, 5.0]))))
    middle = [row.ljust(90)[30:60].strip() for row in rows]
    assert middle == [""] * 8


def test_a_rate_is_drawn_as_steps_with_shade_below() -> None:
    rows = plot_rows(draw(alone(a_line([None, 10.0, 10.0, 0.0, 0.0], step=True))))
    assert "⡂⡂⡂⡂⡂" in rows[4]
    assert rows[4].rstrip().endswith(("⡇", "⢸", "⡂⡇"))


def test_the_extremes_of_folded_samples_are_drawn() -> None:
    folded = a_line([2.0, 2.0, 2.0], low=(2.0, 1.0, 2.0), high=(2.0, 10.0, 2.0))
    rows = plot_rows(draw(alone(folded)))
    assert rows[1].strip() in ("⡇", "⢸")


def test_events_are_numbered_on_the_axis_and_listed() -> None:
    made = plotting.describe(
        views.view(
            list(views.build_run().series.values()),
            events=[event(2, "signal", signal="SIGTERM"), event(3, "oom_kill")],
        )
    )
    rows = draw(made)
    assert "1 2s signal SIGTERM   2 3s OOM kill" in rows
    assert re.fullmatch(r" +1 +2", rows[rows.index("1 2s signal SIGTERM   2 3s OOM kill") - 1])


def test_phases_are_said() -> None:
    rows = draw(replace(chart(), phases=(Phase(start=1.0, end=3.0, label="stopped"),)))
    assert "· stopped 1s to 3s" in rows


def test_who_used_the_cpu_is_said_in_words() -> None:
    made = chart(by_command=(CommandShare(command="cc1plus", cpu_seconds=3.0),))
    assert "· CPU by command: cc1plus 100 %" in draw(made)


def test_stacks_are_not_drawn_in_dots() -> None:
    layer = a_line([1.0, 2.0], role=Role.STACKED, label="cc1plus")
    stack = Panel(
        name="cpu_by_command",
        title="CPU by command",
        quantity=Quantity.CORES,
        lines=(layer,),
        top=2.0,
        note="cc1plus 90 % · make 10 %",
    )
    plain = chart()
    drawn = draw(replace(plain, panels=(*plain.panels, stack)))
    assert "· CPU by command: cc1plus 90 % · make 10 %" in drawn
    assert not any(row.startswith("CPU by command, cores") for row in drawn)


def test_a_run_with_nothing_to_plot_says_so_in_one_sentence() -> None:
    made = plotting.describe(views.view([gauge("proc_count", [(0.1, 1.0)])], wall_seconds=0.2))
    show = "`jobmeter show 20261115T095001Z-7f3a9c` has the totals"
    assert draw(made, 200)[2:] == [f"only 1 sample was taken in 200 ms, which is too little to plot; {show}"]


def test_a_command_cannot_drive_the_terminal() -> None:
    assert "\x1b" not in "\n".join(draw(chart(name="x\x1b]0;owned\x07y")))


@given(st.floats(0.01, 3e8), st.integers(40, 120))
def test_moments_on_the_axis_do_not_run_into_one_another(seconds: float, columns: int) -> None:
    line = Line(label="used", key="k", times=(0.0, seconds), values=(1.0, 1.0))
    axis = next(row for row in draw(alone(line), columns) if "└" in row)
    assert re.fullmatch(" *└0(─+[0-9][0-9.dhms]*)+─*", axis)
    moments = re.split("─+", axis.strip(" └─"))
    every = {plot_ticks.moment(step * n) for step in plot_ticks.TIME_STEPS for n in range(200)}
    assert set(moments) <= every | {plot_ticks.moment(seconds)}


def test_a_command_line_of_megabytes_is_drawn_at_once() -> None:
    assert draw(chart(name="x" * 2_000_000), 80)[0] == "x" * 79 + "…"
