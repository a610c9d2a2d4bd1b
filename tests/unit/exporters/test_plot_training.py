"""A training in every renderer: ranks and devices, axes that do not begin at 0, steps instead of time, marks."""

import json
import re
from dataclasses import replace

import pytest

from jobmeter.exporters import plot_axes, plot_figure, plot_html, plot_legend, plot_terminal, plot_ticks
from jobmeter.model.panel import Chart, Line, Mark, Panel, Peak, Quantity, Role


def line(values: list[float], **facts: object) -> Line:
    times = tuple(float(n) for n in range(len(values)))
    return replace(
        Line(label="", key="loss", source="sdk", times=times, values=tuple(values)),
        **facts,  # type: ignore[arg-type]  # fields of a line by name
    )


def panel(*lines: Line, **facts: object) -> Panel:
    made = Panel(name="loss", title="loss", quantity=Quantity.METRIC, lines=lines, top=4.0)
    return replace(made, **facts)  # type: ignore[arg-type]  # fields of a panel by name


def chart(*panels: Panel, **facts: object) -> Chart:
    made = Chart(
        run_id="r",
        title="t",
        status="completed",
        facts=(),
        started_at=None,
        seconds=100.0,
        panels=panels,
    )
    return replace(made, **facts)  # type: ignore[arg-type]  # fields of a chart by name


def terminal(made: Chart, columns: int = 80) -> list[str]:
    return plot_terminal.render(made, columns=columns, rows=None, colour=False, unicode=True).splitlines()


def svg(made: Chart) -> str:
    content = plot_figure.render(made, suffix="svg", theme="light", width=None, height=None).decode()
    return "\n".join(re.findall("<text[^>]*>([^<]*)</text>", content))


def data_of(made: Chart) -> dict[str, object]:
    found = re.search("const CHART = (.*);\n", plot_html.render(made, theme=None))
    assert found is not None
    data: dict[str, object] = json.loads(found[1])
    return data


RANKS = panel(
    line([4.0, 1.0], label="rank 0"),
    *(line([4.0, 2.0], label=f"rank {n}", role=Role.PEER) for n in (1, 2, 3)),
    peers="ranks 1-3",
)
DEVICES = Panel(
    name="gpu",
    title="GPU",
    quantity=Quantity.PERCENT,
    top=100.0,
    lines=tuple(
        Line(
            label=f"GPU {n}",
            key="nvml_util",
            instance=str(n),
            figure="mean 95 %",
            times=(0.0, 1.0),
            values=(95.0, 95.0),
        )
        for n in range(4)
    ),
)


def words(made: Panel) -> list[str]:
    return [item.words for item in plot_legend.items(made, chart(made))]


def test_the_other_ranks_are_one_item_of_the_legend() -> None:
    assert words(RANKS) == ["loss", "rank 0 loss (sdk)", "ranks 1-3"]


def test_devices_after_the_first_are_named_without_the_key_they_share() -> None:
    assert words(DEVICES) == [
        "GPU",
        "GPU 0 (nvml_util), mean 95 %",
        "GPU 1, mean 95 %",
        "GPU 2, mean 95 %",
        "GPU 3, mean 95 %",
    ]


def test_the_terminal_gives_letters_to_lines_that_are_named_one_by_one() -> None:
    assert terminal(chart(RANKS))[2] == "loss   rank 0 loss (sdk)   ⠤ ranks 1-3"
    assert (
        terminal(chart(DEVICES))[2]
        == "GPU   a GPU 0 (nvml_util), mean 95 %   b GPU 1, mean 95 %   c GPU 2, mean 95 %"
    )


def test_letters_that_would_not_all_fit_are_left_out() -> None:
    low = plot_terminal.render(chart(DEVICES), columns=100, rows=5, colour=False, unicode=True).splitlines()
    assert not any(row.endswith((" a", " b", " c", " d")) for row in low)


def test_ranks_are_pale_in_the_colour_of_the_first() -> None:
    panels = data_of(chart(RANKS))["panels"]
    assert isinstance(panels, list)
    assert [(one["role"], one["colour"]) for one in panels[0]["lines"]] == [
        ("main", "c0"),
        ("peer", "c0"),
        ("peer", "c0"),
        ("peer", "c0"),
    ]
    assert "ranks 1-3" in svg(chart(RANKS))


@pytest.mark.parametrize(
    ("bottom", "top", "labels"),
    [
        (2.92, 4.0, ["3.0", "3.5", "4.0"]),
        (3.9005, 3.9075, ["3.902", "3.904", "3.906"]),
        (-1.2, 1.0, ["-1", "0", "1"]),
        (0.0, 4.0, ["0", "2", "4"]),
        (0.0, 3e-4, ["0", "1e-4", "2e-4", "3e-4"]),
    ],
)
def test_neighbouring_values_of_an_axis_differ(bottom: float, top: float, labels: list[str]) -> None:
    made = panel(line([top]), bottom=bottom, top=top)
    assert [label for _, label in plot_ticks.panel_ticks(made, 3)] == labels


@pytest.mark.parametrize(
    ("bottom", "top", "labels"),
    [
        (0.01, 100.0, ["0.01", "0.1", "1", "10", "100"]),
        (1e-9, 1.0, ["1e-9", "1e-7", "1e-5", "0.001", "0.1"]),
        (1.0, 9.0, ["1", "3"]),
        (2.35, 3.01, ["2.4", "2.6", "2.8", "3"]),
    ],
)
def test_a_logarithmic_axis_has_powers_of_ten_where_it_spans_some(
    bottom: float, top: float, labels: list[str]
) -> None:
    made = panel(line([top]), bottom=bottom, top=top, logarithmic=True)
    assert [label for _, label in plot_ticks.panel_ticks(made, 5)] == labels


def test_an_axis_with_room_for_one_value_still_has_two() -> None:
    made = panel(line([1.45]), bottom=0.55, top=1.45)
    assert [label for _, label in plot_ticks.panel_ticks(made, 1)] == ["0.6", "0.8", "1.0", "1.2", "1.4"]


def test_a_logarithmic_panel_says_so_and_draws_decades_equally_apart() -> None:
    made = chart(panel(line([100.0, 1.0]), bottom=1.0, top=100.0, logarithmic=True))
    rows = terminal(made)
    assert rows[2].startswith("loss, logarithmic")
    places = {row.split("┤")[0].strip(): n for n, row in enumerate(rows) if "┤" in row}
    assert places["10"] - places["100"] == pytest.approx(places["1"] - places["10"], abs=1)
    assert "loss, logarithmic" in svg(made)


def test_a_value_at_the_bottom_of_an_axis_far_from_0_is_drawn_at_the_bottom() -> None:
    rows = terminal(chart(panel(line([4.0, 4.0, 3.0]), bottom=3.0, top=4.0), seconds=2.0))
    drawn = [row.split("│")[-1].split("┤")[-1] for row in rows if "│" in row or "┤" in row]
    assert drawn[0].strip()
    assert drawn[-1].rstrip()[-1] not in (" ", "")


def test_steps_instead_of_time_are_named_on_the_axis_and_at_a_peak() -> None:
    made = panel(line([4.0, 1.0]), peaks=(Peak(value=1.0, seconds=90.0, label="best", key="loss"),))
    by_step = chart(made, first_step=950, marks=(Mark(seconds=50.0, label="checkpoint", type="checkpoint"),))
    rows = terminal(by_step)
    assert "step 960" in rows[-3]
    assert "1,040" in rows[-3]
    assert "best 1 at step 1,040" in rows[2]
    assert rows[-1] == "1 step 1,000 checkpoint"
    assert "step 960" in svg(by_step)
    assert data_of(by_step)["first_step"] == 950


@pytest.mark.parametrize(
    ("quantity", "value", "text"),
    [
        (Quantity.METRIC, 0.36729, "0.3673"),
        (Quantity.METRIC, 0.0001, "1e-4"),
        (Quantity.METRIC, -2.5e-7, "-2.5e-7"),
        (Quantity.METRIC, 12345.6, "12,346"),
        (Quantity.METRIC, 3.2e9, "3.2e9"),
        (Quantity.METRIC, 0.0, "0"),
        (Quantity.PLAIN_PER_SECOND, 2_500_000.0, "2.5 M/s"),
    ],
)
def test_a_metric_is_written_as_people_write_it(quantity: Quantity, value: float, text: str) -> None:
    assert plot_ticks.show(quantity, value) == text


def above(*marks: tuple[float, str], letters: int = 100) -> list[tuple[str, bool]]:
    made = chart(marks=tuple(Mark(seconds=seconds, label=label, type="x") for seconds, label in marks))
    return [(said, left) for _, said, left in plot_axes.mark_words(made, letters)]


def test_a_mark_is_named_where_its_words_end_before_the_next() -> None:
    assert above((10, "checkpoint"), (40, "checkpoint"), (45, "batch size 32 to 16"), (80, "alert")) == [
        ("1 checkpoint", False),
        ("2", False),
        ("3 batch size 32 to 16", False),
        ("4 alert", False),
    ]


def test_marks_on_top_of_one_another_share_a_place() -> None:
    assert above((10, "a"), (11, "b"), (12, "c"), (50, "d")) == [("1-3", False), ("4 d", False)]


def test_the_last_mark_reaches_to_the_left_where_the_axis_ends() -> None:
    assert above((10, "checkpoint"), (99, "ended by SIGKILL")) == [
        ("1 checkpoint", False),
        ("2 ended by SIGKILL", True),
    ]


def test_what_happened_is_dealt_into_rows_that_fit_the_page() -> None:
    marks = tuple(Mark(seconds=float(n), label="a checkpoint with a name", type="x") for n in range(0, 90, 3))
    text = svg(chart(RANKS, marks=marks))
    assert "1  0 a checkpoint with a name" in text
    assert "30  1m27s a checkpoint with a name" in text


def test_marks_of_one_column_stand_beside_one_another_in_the_terminal() -> None:
    marks = tuple(Mark(seconds=50.0 + n / 10, label="x", type="x") for n in range(3))
    rows = terminal(chart(RANKS, marks=marks))
    assert any("123" in row.replace(" ", "") and set(row.strip()) <= set("123") for row in rows)
