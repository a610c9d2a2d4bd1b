"""A report on a screen of 80 columns, without colour."""

import dataclasses
import io

from jobmeter.cli.render import analysis_page, page
from jobmeter.cli.render.screen import Screen
from jobmeter.model.report import Cause, Evidence, Finding, Health, Recommendation, Report, Severity
from support import reports, views
from support.views import GIB, STARTED


def lines(report: Report, *, errors: int = 5, width: int = 80) -> list[str]:
    screen = Screen(io.StringIO(), width=width, colour=False)
    return analysis_page.render(views.build_run(name="lora").run, report, screen, errors=errors)


def test_a_report_fits_and_reads_from_top_to_bottom() -> None:
    shown = lines(reports.report())
    assert max(map(len, shown)) <= 80
    assert [line.split()[0] for line in shown if line and line[0] != " "][2:] == [
        "verdict",
        "health",
        "because",
        "findings",
        "advice",
        "log",
    ]
    assert "verdict   the kernel killed it: it needed more than its 120 GiB" in shown


def test_advice_says_where_what_and_how_much() -> None:
    start = lines(reports.report(), width=120)
    place = next(number for number, line in enumerate(start) if line.startswith("advice"))
    assert start[place : place + 4] == [
        "advice    1. critical: Reduce worker count",
        "             Set num_workers: 0 (config.process[0].datasets[0].num_workers: 2 -> 0)",
        "             Saves about 16 GiB of memory",
        "             memory peak: 119 GiB -> 103 GiB (nine times of ten 101 GiB to 106 GiB)",
    ]


def test_advice_without_a_place_or_with_a_unit_of_its_own() -> None:
    plain = Recommendation(rule="r", severity=Severity.INFO, title="t", action="Do it", impact="More")
    noted = dataclasses.replace(plain, config_path="--mem", recommended_value="8G")
    odd = dataclasses.replace(
        plain,
        config_path="--x",
        predictions=(dataclasses.replace(reports.WORKERS.predictions[0], unit="it/day"),),
    )
    shown = "\n".join(lines(reports.report(recommendations=(plain, noted, odd)), width=200))
    assert "   Do it\n" in shown
    assert "Do it (--mem: 8G)" in shown
    assert "Do it (--x)" in shown
    assert "it/day" in shown


def test_doubt_is_said() -> None:
    shown = lines(reports.report(verdict=reports.verdict(Cause.HANG, sentence="it hangs", confidence=0.6)))
    assert "verdict   it hangs (60 % sure)" in shown


def test_evidence_names_its_source_its_time_its_rank_and_its_words() -> None:
    shown = "\n".join(lines(reports.report(), width=120))
    assert "the kernel counted 1 kill: oom_kill 1  event oom_kill" in shown
    assert "rank 3: SIGKILL ended it" in shown


def test_a_long_complaint_that_is_the_verdict_is_not_quoted_again() -> None:
    complaint = "ValueError: " + "a shard of the data has too few columns, " * 5
    said = Evidence(sentence="the job says so", source="stderr", quote=complaint)
    verdict = reports.verdict(Cause.EXCEPTION, sentence=f"the job failed: {complaint}", evidence=(said,))
    shown = lines(reports.report(verdict=verdict))
    assert "because   the job says so  stderr" in shown
    short = dataclasses.replace(said, quote="ValueError: a shard")
    verdict = reports.verdict(
        Cause.EXCEPTION, sentence="the job failed: ValueError: a shard", evidence=(short,)
    )
    assert "because   the job says so: ValueError: a shard  stderr" in lines(reports.report(verdict=verdict))


def test_many_findings_of_one_kind_are_counted() -> None:
    many = tuple(
        Finding(
            detector="spikes", severity=Severity.WARNING, sentence=f"spike {n}", begin=STARTED + n, rank=1
        )
        for n in range(5)
    )
    shown = "\n".join(lines(reports.report(findings=many)))
    assert "rank 1: spike 2" in shown
    assert "spike 3" not in shown
    assert "2 more of spikes" in shown


def test_errors_come_before_warnings_and_the_rest_is_counted() -> None:
    warning = dataclasses.replace(
        reports.CUDA_OOM, level="WARNING", type="UserWarning", message="UserWarning: old", count=1
    )
    shown = "\n".join(lines(reports.report(log_errors=(warning, reports.CUDA_OOM)), errors=1))
    assert "torch.OutOfMemoryError, 4 times, rank 0-3, at 119 GiB of" in shown
    assert "1 more: see --errors or --json" in shown
    every = "\n".join(lines(reports.report(log_errors=(warning,))))
    assert "UserWarning, rank 0-3, at 119 GiB of memory: old" in every


def test_a_run_without_anything_to_say_is_short() -> None:
    fine = Report(
        verdict=reports.verdict(Cause.COMPLETED, sentence="it completed", evidence=()), health=Health.GOOD
    )
    assert lines(fine)[-2:] == ["verdict   it completed", "health    good"]


def test_what_a_job_prints_cannot_move_the_cursor() -> None:
    evil = dataclasses.replace(
        reports.CUDA_OOM, message="\x1b[2Jgone", type="a\x07", memory_at_time_bytes=GIB
    )
    shown = "\n".join(lines(reports.report(log_errors=(evil,), verdict=reports.verdict(sentence="\x1b]0;t"))))
    assert "\x1b" not in shown
    assert "\\x1b[2Jgone" in shown


def test_show_says_in_a_line_why_a_run_ended() -> None:
    screen = Screen(io.StringIO(), width=0, colour=False)
    view = views.build_run()
    shown = page.render(view, screen, STARTED, reports.report())
    assert any(
        line.startswith("why       the kernel killed it: it needed more than its 120 GiB") for line in shown
    )
    fine = reports.report(verdict=reports.verdict(Cause.COMPLETED))
    assert page.render(view, screen, STARTED, fine) == page.render(view, screen, STARTED)


def test_a_sentence_that_begins_with_its_rank_is_not_told_whose_it_is() -> None:
    slow = Finding(
        detector="stragglers",
        severity=Severity.WARNING,
        sentence="rank 2 takes longer",
        begin=STARTED,
        rank=2,
    )
    shown = lines(dataclasses.replace(reports.report(), findings=(slow,)))
    assert next(line for line in shown if "longer" in line).endswith(" rank 2 takes longer")
    assert not any("rank 2: " in line for line in shown)
