"""Plots as one page: self-contained, safe against what a run may be called, complete in its data."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.support import views
from tests.support.views import MIB, event, gauge

from jobmeter.exporters import plot_html
from jobmeter.model.panel import Chart
from jobmeter.model.run import Limits
from jobmeter.service import plotting

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{script}}&amp;\u2028'\""


class Page(HTMLParser):
    """The elements of a page and the text of its scripts and styles, as a browser would see them."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self.text = ""
        self._open = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._open = tag
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open:
            self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in self.inside:
            self.inside[self._open][-1] += data
        else:
            self.text += data


def chart(**facts: object) -> Chart:
    return plotting.describe(views.build_run(**facts))


def render(made: Chart, theme: str | None = None) -> str:
    return plot_html.render(made, theme=theme)


def data_of(source: str) -> dict[str, object]:
    found = re.search(r"const CHART = (\{.*\});\n", source)
    assert found is not None
    loaded: dict[str, object] = json.loads(found[1])
    return loaded


def test_nothing_is_fetched_from_anywhere() -> None:
    source = render(chart())
    assert "://" not in source
    assert not re.search(r"\b(src|href|srcset|action)\s*=", source)
    assert not re.search(r"@import|url\((?!#)", Page(source).inside["style"][0])
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import)\b", Page(source).inside["script"][0])


def test_there_is_one_script_and_one_style_and_the_policy_knows_them_by_hash() -> None:
    page = Page(render(chart()))
    assert page.tags.count("script") == page.tags.count("style") == 1
    policy = dict(page.attributes)["content"] or ""
    policies = [
        value for name, value in page.attributes if name == "content" and value and "default-src" in value
    ]
    assert len(policies) == 1, policy
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.inside[kind][0].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policies[0]
    assert "unsafe" not in policies[0]
    assert "default-src 'none'" in policies[0]


def test_there_are_no_inline_handlers_or_styles_for_the_policy_to_block() -> None:
    names = {name for name, _ in Page(render(chart())).attributes}
    assert not {name for name in names if name.startswith("on")}
    assert "style" not in names


@pytest.mark.parametrize("where", ["name", "command", "host", "event", "note"])
def test_text_of_the_run_stays_text(where: str) -> None:
    facts: dict[str, object] = {
        "name": {"name": EVIL},
        "command": {"command": (EVIL,)},
        "host": {"host": EVIL},
    }
    made = chart(**facts.get(where, {}))  # type: ignore[arg-type]  # one of the three above, or nothing
    if where == "event":
        made = plotting.describe(
            views.view(list(views.build_run().series.values()), events=[event(1, "signal", signal=EVIL)])
        )
    if where == "note":
        made = replace(made, notes=(EVIL,), panels=tuple(replace(panel, note=EVIL) for panel in made.panels))
    page = Page(render(made))
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert page.inside["script"][0].count("use strict") == 1
    assert data_of(render(made))["seconds"] == 4.0


def test_a_name_that_cannot_be_encoded_is_replaced() -> None:
    source = render(chart(name="x\udcff\x00y"))
    assert "<title>x\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}y</title>" in source
    source.encode()


def test_every_line_brings_its_points_key_and_meaning() -> None:
    panels = data_of(render(chart(limits=Limits(memory_bytes=512 * MIB))))["panels"]
    assert isinstance(panels, list)
    cpu = panels[0]
    assert cpu["heading"] == "CPU, cores"
    assert cpu["quantity"] == "cores"
    assert cpu["lines"][0] == {
        "label": "used",
        "key": "cgroup_cputime",
        "named": True,
        "teller": "",
        "about": "what cgroup_cputime means",
        "role": "main",
        "step": True,
        "colour": "c0",
        "rest": "peak 2 at 2s",
        "times": [0.0, 1.0, 2.0, 3.0, 4.0],
        "values": [None, 0.5, 2.0, 1.5, 0.25],
    }
    memory = panels[1]
    assert memory["limits"] == [{"value": 512.0 * MIB}]
    assert {"sign": "limit-colour dash", "words": "limit 512 MiB"} in memory["words"]
    assert [line["rest"] for line in memory["lines"]] == ["peak 300 MiB at 2s", "max 400 MiB", "max 450 MiB"]
    assert [line["colour"] for line in memory["lines"]] == ["c0", "c1", "cfaint"]


def test_the_extremes_of_folded_samples_are_in_the_page() -> None:
    values = [(float(second), 500.0 if second == 4_321 else 1.0) for second in range(1, 9_001)]
    made = plotting.describe(
        views.view([gauge("proc_count", values)], (views.COUNT,), wall_seconds=9_000.0), buckets=100
    )
    panels = data_of(render(made))["panels"]
    assert isinstance(panels, list)
    line = panels[0]["lines"][0]
    assert max(line["high"]) == 500.0
    assert len(line["times"]) == 100


def test_a_hundred_thousand_samples_make_a_page_that_can_be_mailed() -> None:
    values = [(float(second), float(second % 977)) for second in range(1, 100_001)]
    made = plotting.describe(
        views.view([gauge("proc_count", values)], (views.COUNT,), wall_seconds=100_000.0), buckets=2000
    )
    assert len(render(made)) < 200_000


def test_the_theme_follows_the_reader_unless_asked_for() -> None:
    assert "prefers-color-scheme: dark" in render(chart())
    assert "data-theme" not in render(chart()).partition("<head>")[0]
    assert '<html lang="en" data-theme="dark">' in render(chart(), "dark")


def test_the_meaning_of_the_lines_can_be_read_without_a_script() -> None:
    text = Page(render(chart())).text
    assert "unreclaimable (cgroup_mem_unreclaimable)" in text
    assert "50 MiB to 300 MiB" in text
    assert "what cgroup_mem_unreclaimable means" in text


def test_a_run_with_nothing_to_plot_is_a_page_with_one_sentence() -> None:
    page = Page(render(plotting.describe(views.view([], wall_seconds=0.01))))
    assert "no sample was taken in 10 ms, which is too little to plot" in page.text
    assert "table" not in page.tags


def test_marks_are_listed_with_their_numbers() -> None:
    made = plotting.describe(
        views.view(
            list(views.build_run().series.values()), events=[event(2, "oom_kill"), event(3, "stopped")]
        )
    )
    assert "1 2s OOM kill" in Page(render(made)).text
    assert data_of(render(made))["marks"] == [
        {"seconds": 2.0, "label": "OOM kill", "severe": True},
        {"seconds": 3.0, "label": "stopped", "severe": False},
    ]
    assert data_of(render(made))["phases"] == [{"start": 3.0, "end": 4.0, "label": "stopped"}]


def test_a_line_that_was_never_measured_is_not_in_the_table() -> None:
    made = chart()
    panel = made.panels[0]
    empty = replace(panel.lines[0], values=(None,) * 5, key="never_measured", label="")
    source = render(replace(made, panels=(replace(panel, lines=(panel.lines[0], empty)),)))
    assert Page(source).text.count("never_measured") == 0
    panels = data_of(source)["panels"]
    assert isinstance(panels, list)
    assert panels[0]["lines"][1]["rest"] == ""
