"""Cores a job wanted and did not get, and cores it got and did not use."""

import pytest

from jobmeter.analysis.detectors import cores_idle, cpu_throttled
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Headline, Limits
from jobmeter.model.view import RunView
from support import curves, views

QUOTA = {"limits": {"cpus_source": "cgroup"}}


def cpu_headline(seconds: float) -> dict[str, Headline]:
    return {
        "cpu_seconds": Headline(
            value=seconds, low=seconds, high=seconds, keys=("cgroup_cputime",), exact=True
        )
    }


def one(found: object) -> Finding:
    [finding] = list(found)  # type: ignore[call-overload]  # detectors give iterables
    assert isinstance(finding, Finding)
    return finding


def squeezed(withheld: list[float], used: list[float], **facts: object) -> RunView:
    facts = {"limits": Limits(cpus=2.0), "context": QUOTA, "wall_seconds": float(len(used))} | facts
    return curves.run(curves.rate("cgroup_throttled", withheld), curves.cpu(used), **facts)


def test_a_quota_that_holds_the_job_back_is_told_with_what_it_wants() -> None:
    found = one(cpu_throttled.detect(squeezed([1.9] * 60, [2.0] * 60)))
    assert found.severity is Severity.WARNING
    assert found.sentence == (
        "throttled for 1 min 00 s: it wants 3.9 cores and may use 2; the quota withheld 49 % of the CPU time it wanted"
    )
    assert found.figures["throttled_ratio"] == pytest.approx(0.4872)
    assert found.figures["allowed_cores"] == 2.0


def test_only_the_stretch_in_which_it_was_held_back_counts() -> None:
    found = one(cpu_throttled.detect(squeezed([0.0] * 300 + [2.0] * 100, [0.1] * 300 + [2.0] * 100)))
    assert found.figures["wanted_cores"] == pytest.approx(4.0)
    assert (found.begin, found.end) == (curves.STARTED + 300, curves.STARTED + 400)


def test_a_little_of_it_is_worth_a_word() -> None:
    assert one(cpu_throttled.detect(squeezed([0.3] * 60, [1.7] * 60))).severity is Severity.INFO


def test_bursts_moments_and_nothing_are_silent() -> None:
    assert list(cpu_throttled.detect(squeezed([0.1] * 60, [1.9] * 60))) == []
    assert list(cpu_throttled.detect(squeezed([0.0] * 1000 + [2.0] * 5, [2.0] * 1005))) == []
    assert list(cpu_throttled.detect(squeezed([0.0] * 60, [2.0] * 60))) == []
    assert list(cpu_throttled.detect(squeezed([0.02] * 30, [0.01] * 30))) == []
    assert list(cpu_throttled.detect(curves.run(curves.cpu([1.0] * 20)))) == []


def test_a_summary_alone_tells_of_the_whole_run() -> None:
    facts = {"headline": cpu_headline(10.0), "wall_seconds": 50.0}
    found = one(cpu_throttled.detect(curves.run(summary={"docker_throttled": 30.0}, **facts)))
    assert found.key == "docker_throttled"
    assert found.figures["wanted_cores"] == 0.8
    assert "allowed_cores" not in found.figures
    assert "it wants 0.8 cores and got 0.2" in found.sentence
    assert list(cpu_throttled.detect(curves.run(summary={"docker_throttled": 30.0}))) == []
    assert list(cpu_throttled.detect(curves.run(summary={"cgroup_throttled": 0}, **facts))) == []


def test_cpu_in_percent_of_the_machine_is_not_held_against_seconds() -> None:
    withheld = curves.rate("cgroup_throttled", [2.0] * 60)
    percent = curves.gauge("buildstats_cpu", [90.0] * 60)
    assert list(cpu_throttled.detect(curves.run(withheld, percent))) == []


# cores_idle


def given(allowed: float, cores: list[float], *, every: float = 1.0, **facts: object) -> RunView:
    seconds = every * len(cores)
    known = {
        "limits": Limits(cpus=allowed),
        "context": {"limits": {"cpus_source": "slurm"}},
        "wall_seconds": seconds,
        "headline": cpu_headline(every * sum(cores)),
    }
    return curves.run(curves.cpu(cores, every=every), **(known | facts))


def test_cores_that_nobody_used_are_told() -> None:
    found = one(cores_idle.detect(given(8, [1.0] * 120)))
    assert found.severity is Severity.WARNING
    assert found.figures == {"used_cores": 1.0, "allowed_cores": 8, "needed_cores": 1.0}
    assert (
        found.sentence
        == "the job used 1 of its 8 cores over 2 min 00 s: with 1 it would not have taken 5 % longer"
    )


def test_a_stage_that_needs_them_all_counts() -> None:
    assert list(cores_idle.detect(given(8, [1.0] * 80 + [8.0] * 40))) == []


def test_a_short_stage_that_needs_many_makes_it_a_little_longer() -> None:
    found = one(cores_idle.detect(given(8, [1.0] * 198 + [8.0] * 2)))
    assert found.figures["needed_cores"] == 2.0


def test_some_cores_too_many_are_worth_a_word() -> None:
    assert one(cores_idle.detect(given(4, [1.2] * 120))).severity is Severity.INFO


@pytest.mark.parametrize(
    "view",
    [
        given(2, [1.5] * 120),
        given(8, [5.0] * 120),
        given(8, [1.0] * 30),
        given(8, [0.01] * 120),
        given(8, [1.0] * 120, limits=Limits()),
        given(8, [1.0] * 120, headline={}),
        given(8, [1.0] * 120, context={"limits": {"cpus_source": "affinity"}, "host": {"cpus": 8}}),
        given(8, [1.0] * 120, context={"limits": {"cpus_source": "affinity"}}),
    ],
    ids=["used", "more than half", "short", "waiting", "no limit", "no time", "the machine", "unknown"],
)
def test_silent(view: RunView) -> None:
    assert list(cores_idle.detect(view)) == []


def test_a_set_of_cpus_smaller_than_the_machine_was_given() -> None:
    context = {"limits": {"cpus_source": "affinity"}, "host": {"cpus": 64}}
    assert one(cores_idle.detect(given(8, [1.0] * 120, context=context))).figures["allowed_cores"] == 8


def test_a_job_that_was_held_back_is_not_judged() -> None:
    view = given(8, [1.0] * 120)
    held = curves.rate("cgroup_throttled", [2.0] * 120)
    assert list(cores_idle.detect(curves.run(*view.series.values(), held, **facts_of(view)))) == []


def facts_of(view: RunView) -> dict[str, object]:
    run = view.run
    names = ("limits", "context", "wall_seconds", "headline")
    return {name: getattr(run, name) for name in names}


def test_where_nothing_was_sampled_the_mean_is_what_it_needs() -> None:
    view = given(8, [1.0] * 120)
    [found] = cores_idle.detect(curves.run(**facts_of(view)))
    assert "needed_cores" not in found.figures
    assert found.sentence.endswith("in the mean; what it needed at its busiest was not measured")
    gauge = views.gauge("ps_pcpu_total", [(1, 100.0), (2, 100.0)])
    [by_gauge] = cores_idle.detect(curves.run(gauge, **facts_of(view)))
    assert by_gauge.figures["used_cores"] == 1.0
