"""A report's page: whole, harmless whatever the job is called, and right in its figures."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest

from jobmeter.exporters import html, html_charts, html_parts, html_text
from jobmeter.exporters.html_charts import Zones
from jobmeter.model.panel import Chart, Limit, Line, Mark, Panel, Quantity, Role
from jobmeter.model.report import Cause, Finding, Health, LogError, Severity
from jobmeter.model.run import Headline, Limits, Provenance, Status
from jobmeter.model.view import RunView
from jobmeter.service import plotting
from support import reports, views
from support.views import GIB, STARTED

EVIL = "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{style}}"
ZONES = Zones(warning=0.85, critical=0.95)


class Reader(HTMLParser):
    """Collect what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def page_of(view: RunView | None = None, **changes: object) -> str:
    shown = view or views.build_run()
    known: dict[str, object] = {
        "view": shown,
        "report": reports.report(),
        "chart": plotting.describe(shown, buckets=100),
        "zones": ZONES,
        "output_searched": True,
        "made_by": "jobmeter 1.2.3",
    }
    return html.render(html.Page(**(known | changes)))  # type: ignore[arg-type]


def test_errors_are_counted_only_where_they_were_looked_for() -> None:
    clean = dataclasses.replace(reports.report(), log_errors=())
    assert "<dt>errors in the log</dt><dd><span>0</span></dd>" in page_of(report=clean)
    assert "errors in the log" not in page_of(report=clean, output_searched=False)
    # those of another recorder of the job count all the same
    assert "errors in the log" in page_of(output_searched=False)


def test_what_is_for_a_terminal_looks_like_it() -> None:
    assert html_text.prose("see `jobmeter show <x>` or `") == "see <code>jobmeter show &lt;x&gt;</code> or `"


def test_a_page_and_its_heading_agree_on_the_duration() -> None:
    view = views.build_run(wall_seconds=3.25)
    assert re.findall(r">([\d.]+ s)<", page_of(view)) == ["3.25 s", "3.25 s"]


def test_a_time_limit_is_told_with_the_signal() -> None:
    view = views.build_run(
        status=Status.CANCELLED,
        signal="SIGTERM",
        exit_code=124,
        context={"ended_by": "timeout", "options": {"timeout": 5.0}},
    )
    assert "cancelled at its time limit of 5 s, by SIGTERM, exit code 124" in read(page_of(view)).text


def peak(value: float) -> dict[str, Headline]:
    return {"memory_peak_bytes": Headline(value=value, low=value, high=value, keys=("k",), exact=True)}


def test_a_page_says_what_happened_why_and_what_to_change() -> None:
    text = read(page_of()).text
    for words in (
        "Performance Analysis",
        "the kernel killed it: it needed more than its 120 GiB",
        "Reduce worker count",
        "config.process[0].datasets[0].num_workers",
        "memory peak: 119 GiB → 103 GiB, nine times of ten 101 GiB to 106 GiB",
        "memory stood above 95 % of its limit for 12 min",
        "torch.OutOfMemoryError",
        "at 119 GiB of memory",
        "jobmeter 1.2.3",
    ):
        assert words in text


def test_a_page_fetches_nothing_and_runs_nothing() -> None:
    page = page_of()
    found = read(page)
    assert not found.tags & {"script", "img", "link", "iframe", "object", "embed", "form", "base"}
    assert not found.attributes & {"src", "href", "style", "srcset", "action"}
    assert "default-src 'none'" in page
    assert "url(" not in page
    assert "@import" not in page


def test_hostile_names_logs_tags_and_config_stay_text() -> None:
    view = views.view(
        [views.gauge("proc_rss_total", [(n, 100) for n in range(5)])],
        (views.RSS,),
        events=[views.event(1, EVIL, what=EVIL)],
        processes=[views.process("7@1", EVIL)],
        name=EVIL,
        command=(EVIL,),
        cwd=EVIL,
        host=EVIL,
        user=EVIL,
        tags={EVIL: EVIL},
        notes=(EVIL,),
        signal=EVIL,
        context={"config": {EVIL: EVIL}, "git": {"commit": EVIL, "branch": EVIL}},
        provenance=Provenance(missing={EVIL: EVIL}, inexact={EVIL: EVIL}, dropped={EVIL: 3}, origin=EVIL),
    )
    evil = reports.report(
        verdict=reports.verdict(sentence=EVIL),
        findings=(Finding(detector=EVIL, severity=Severity.INFO, sentence=EVIL, key=EVIL, instance=EVIL),),
        recommendations=(
            dataclasses.replace(
                reports.WORKERS, title=EVIL, action=EVIL, impact=EVIL, config_path=EVIL, current_value=EVIL
            ),
        ),
        log_errors=(LogError(level=EVIL, type=EVIL, message=EVIL, traceback=EVIL, stream=EVIL),),
    )
    page = page_of(view, report=evil)
    found = read(page)
    assert not found.tags & {"script", "img"}
    assert not {name for name in found.attributes if name.startswith("on")}
    assert page.count("<style>") == 1
    assert "<script>alert(1)</script>" in found.text
    assert "{{style}}" in found.text


def test_secrets_do_not_leave_with_the_page() -> None:
    error = LogError(
        level="ERROR",
        type="HTTPError",
        message="401 for https://user:hunter2secret@host/x api_key=sk-aaaabbbbccccdddd1111",
    )
    page = page_of(report=reports.report(log_errors=(error,)))
    assert "hunter2secret" not in page
    assert "aaaabbbbccccdddd1111" not in page


def test_control_characters_are_shown_as_such() -> None:
    assert html_text.block("a\x1b[31mb\u202e\tc\nd\xa0e") == "a\ufffd[31mb\ufffd\tc\nd e"
    assert html_text.line("a\n b") == "a b"
    assert html_text.cut("abc", 2) == "ab…"
    assert html_text.cut("ab", 2) == "ab"


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (120 * GIB, "119 GiB / 120 GiB (99 %)"),
        (24_000 * GIB, "119 GiB / 23.4 TiB (0.5 %)"),
        (None, "119 GiB"),
    ],
)
def test_the_peak_stands_against_its_limit(limit: int | None, words: str) -> None:
    run = views.build_run(headline=peak(119.2 * GIB), limits=Limits(memory_bytes=limit)).run
    assert html_parts.peak_memory(run) == words
    assert words in read(page_of(dataclasses.replace(views.build_run(), run=run))).text


def test_what_was_not_measured_is_not_on_the_page() -> None:
    view = views.view([], wall_seconds=None, started_at=None, exit_code=None, status=Status.LOST)
    empty = reports.report(findings=(), recommendations=(), log_errors=())
    text = read(page_of(view, report=empty)).text
    assert "peak memory" not in text
    assert "duration" not in text
    for heading in ("Recommendations", "Findings", "Log errors", "Processes", "Config"):
        assert heading not in text


def test_a_run_imported_without_an_end_says_that_it_is_not_known() -> None:
    view = views.build_run(status=Status.LOST, provenance=Provenance(origin="wandb"))
    assert "not known" in read(page_of(view)).text


def test_doubt_is_said() -> None:
    page = page_of(report=reports.report(verdict=reports.verdict(Cause.HANG, confidence=0.6)))
    assert "(60% sure)" in read(page).text


def test_long_lists_are_cut_and_say_so() -> None:
    view = dataclasses.replace(
        views.build_run(), processes=tuple(views.process(f"{n}@1", f"cc{n}") for n in range(30))
    )
    many = reports.report(
        findings=(reports.NEAR_LIMIT,) * 70,
        log_errors=tuple(
            dataclasses.replace(reports.CUDA_OOM, message=f"m{n}", traceback=None) for n in range(50)
        ),
    )
    text = read(page_of(view, report=many)).text
    assert "10 more are in jobmeter analyze --json." in text
    assert "and 10 more" in text
    assert "m39" in text
    assert "m40" not in text


def test_moments_are_counted_from_the_start_as_in_the_charts() -> None:
    text = read(page_of()).text
    assert "near limit 1 min 00 s to 13 min 00 s cgroup_mem_unreclaimable" in text
    assert "after 13 min 00 s, 4 times, ranks 0, 1, 2, 3, at 119 GiB of memory, stderr" in text
    before = dataclasses.replace(reports.NEAR_LIMIT, begin=STARTED - 3600, end=None, rank=2)
    assert "rank 2: " in read(page_of(report=reports.report(findings=(before,)))).text


def test_an_advice_without_a_place_or_a_number_is_said_plainly() -> None:
    plain = dataclasses.replace(reports.WORKERS, config_path=None, predictions=())
    unset = dataclasses.replace(
        reports.WORKERS,
        current_value=None,
        recommended_value=True,
        predictions=(dataclasses.replace(reports.WORKERS.predictions[0], unit="steps/day"),),
    )
    noted = dataclasses.replace(reports.WORKERS, config_path="--mem", recommended_value=None)
    text = read(page_of(report=reports.report(recommendations=(plain, unset, noted)))).text
    assert "not set → true" in text
    assert "steps/day" in text
    assert "--mem" in text


def test_processes_show_only_columns_that_somebody_filled() -> None:
    one = dataclasses.replace(views.process("7@1", "cc1"), cpu_seconds=3.0, role="worker", rank=1)
    other = dataclasses.replace(views.process("8@1", "cc2"), peak_rss_bytes=GIB, read_bytes=5, write_bytes=6)
    shown = html_parts.processes((one, other))
    assert re.findall(r'<th class="number">([^<]+)</th>', shown) == ["CPU", "peak memory", "read", "written"]
    assert "worker rank 1 pid 7" in shown
    assert re.findall(r'<th class="number">([^<]+)</th>', html_parts.processes((one,))) == ["CPU"]


def line(*values: float | None, role: Role = Role.MAIN, **changes: object) -> Line:
    known: dict[str, object] = {
        "label": "held",
        "key": "proc_rss_total",
        "role": role,
        "times": tuple(float(n) for n in range(len(values))),
        "values": values,
    }
    return Line(**(known | changes))  # type: ignore[arg-type]


def chart(*lines: Line, top: float = 100.0, marks: tuple[Mark, ...] = (), **changes: object) -> Chart:
    known: dict[str, object] = {
        "name": "memory",
        "title": "memory",
        "quantity": Quantity.BYTES,
        "lines": lines,
        "top": top,
    }
    made = Panel(**(known | changes))  # type: ignore[arg-type]
    return Chart(
        run_id="r",
        title="t",
        status="completed",
        facts=(),
        started_at=None,
        seconds=4.0,
        panels=(made,),
        marks=marks,
    )


def test_a_line_breaks_where_nothing_was_measured() -> None:
    drawn = html_charts.charts(chart(line(0.0, 50.0, None, 100.0)), ZONES)
    (path,) = re.findall(r'class="line main c0" d="([^"]+)"', drawn)
    assert path == "M0.0 100.00h0L250.0 52.83M750.0 5.66h0"


def test_folded_samples_are_a_band() -> None:
    folded = line(50.0, None, 50.0, low=(25.0, None, 40.0), high=(75.0, None, 60.0))
    drawn = html_charts.charts(chart(folded), ZONES)
    (band,) = re.findall(r'class="band c0" d="([^"]+)"', drawn)
    assert band == "M0.0 29.25L0.0 76.42ZM500.0 43.40L500.0 62.26Z"


def test_a_limit_in_reach_has_its_zones() -> None:
    near = chart(line(10.0, 60.0), top=60.0, limits=(Limit(label="limit", value=100.0),))
    drawn = html_charts.charts(near, ZONES)
    assert re.findall(r'class="zone (\w+)" y="([\d.]+)" width="1000" height="([\d.]+)"', drawn) == [
        ("warning", "10.38", "9.43"),
        ("critical", "0.00", "10.38"),
    ]
    assert 'class="limit"' in drawn
    assert "limit 100 B" in drawn


def test_a_limit_out_of_reach_is_only_named() -> None:
    far = chart(line(10.0, 20.0), top=20.0, limits=(Limit(label="limit", value=1000.0),))
    drawn = html_charts.charts(far, ZONES)
    assert "far below the limit 1000 B" in drawn
    assert 'class="limit"' not in drawn
    assert "zone" not in drawn


def test_marks_that_would_lie_on_one_another_stand_on_steps() -> None:
    marks = (
        Mark(seconds=0.5, label="checkpoint", type="checkpoint"),
        Mark(seconds=3.9, label="OOM kill", type="oom_kill", severe=True),
        Mark(seconds=4.0, label="ended", type="end"),
    )
    made = chart(line(1.0, 2.0), marks=marks)
    drawn = html_charts.charts(made, ZONES)
    assert re.findall(r'<text class="mark[^"]*" x="([\d.]+)%" y="100%" [^>]*dy="(-\d+)"', drawn) == [
        ("12.50", "-4"),
        ("97.50", "-4"),
        ("100.00", "-18"),
    ]
    listed = read(html_charts.mark_list(made)).text
    assert listed == "1 500ms checkpoint2 3.9s OOM kill3 4s ended"
    assert html_charts.mark_list(chart(line(1.0))) == ""


def test_layers_of_who_used_it_are_not_drawn_and_peers_have_no_band() -> None:
    peers = line(1.0, 2.0, role=Role.PEER, low=(0.0, 1.0), high=(2.0, 3.0))
    drawn = html_charts.charts(
        chart(line(1.0, 2.0), peers, line(3.0, role=Role.STACKED), peers="ranks 1-3"), ZONES
    )
    assert drawn.count('<path class="line') == 2
    assert "band" not in drawn
    assert "ranks 1-3" in drawn


def test_a_logarithmic_axis_and_a_note_are_kept() -> None:
    made = chart(
        line(0.01, 1.0),
        top=1.0,
        bottom=0.01,
        logarithmic=True,
        quantity=Quantity.METRIC,
        name="loss",
        note="NaN later",
    )
    drawn = html_charts.charts(made, ZONES)
    (path,) = re.findall(r'class="line main c0" d="([^"]+)"', drawn)
    assert path == "M0.0 100.00h0L250.0 0.00"
    assert "NaN later" in drawn


def test_a_panel_of_zeros_is_drawn_on_its_floor() -> None:
    drawn = html_charts.charts(chart(line(0.0, 0.0), top=0.0), ZONES)
    assert 'd="M0.0 100.00h0L250.0 100.00"' in drawn


def test_a_page_without_charts_says_why() -> None:
    nothing = dataclasses.replace(chart(), panels=(), notes=("only one sample was taken",))
    assert "only one sample was taken" in read(page_of(chart=nothing)).text
    silent = dataclasses.replace(nothing, notes=())
    assert "Over time" not in read(page_of(chart=silent)).text


def test_a_day_of_samples_is_a_small_page() -> None:
    day = 86_400
    view = views.view(
        [
            views.gauge("proc_rss_total", [(n, (n % 977) * 1e6) for n in range(0, day, 10)]),
            views.counter("wait_cputime", [(n, (n % 31) / 31) for n in range(1, day, 10)], span=10.0),
        ],
        (views.RSS, views.WAIT_CPU),
        wall_seconds=float(day),
    )
    page = page_of(view, chart=plotting.describe(view, buckets=400))
    assert len(page.encode()) < 300_000
    assert page.count('class="line main') == 2
    assert Health.GOOD.value in page
