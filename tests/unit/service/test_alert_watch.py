"""Rules held against a run that grows: what fires, what resolves, and what says nothing."""

from pathlib import Path

import pytest

from jobmeter.model.alert import Budget, Per, Rule, RunBook, State
from jobmeter.model.report import Cause as WhyEnded
from jobmeter.model.report import Finding, Health, Report, Severity, Verdict
from jobmeter.service import alert_budgets, alert_rule_text
from support import alerted, folders
from support.alerted import MIB, Job, said


def rule(name: str = "r", **table: object) -> Rule:
    found = alert_rule_text.parse(
        name, {key.rstrip("_"): value for key, value in table.items()}, now=folders.STARTED
    )
    assert found is not None
    return found


HIGH = rule("high", key="memory", value="100MiB", clear="80MiB", for_="3s", clear_for="2s")


def test_memory_that_stays_high_fires_once_and_resolves_once(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[HIGH])
    turns = []
    for mib in (50, 150, 150, 150, 150, 150, 90, 90, 90, 50, 50, 50, 50):
        job.memory(mib)
        turns += said(job.look())
    assert turns == [("firing", "high"), ("resolved", "high")]


def test_many_samples_in_one_look_are_looked_at_one_by_one(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[HIGH])
    for mib in (150, 150, 150, 150, 50, 50, 50):
        job.memory(mib)
    changes = job.look()
    assert said(changes) == [("firing", "high"), ("resolved", "high")]
    assert (
        changes[0].standing.sentence == "cgroup_mem_unreclaimable is 150 MiB, the threshold is above 100 MiB"
    )
    assert changes[0].at == pytest.approx(folders.STARTED + 4, abs=0.01)


def test_a_wall_clock_that_jumps_fires_nothing(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[HIGH])
    job.memory(150)
    job.wall += 3600
    job.memory(150)
    job.wall -= 7200
    job.memory(150)
    assert job.look() == []
    job.memory(150)
    assert said(job.look()) == [("firing", "high")]


def test_a_look_from_the_same_memory_gives_the_same_changes(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[HIGH])
    job.memory(150, times=2)
    job.look()
    book = job.book
    job.memory(150, times=3)
    first = job.look()
    job.book = book
    assert [change.id for change in job.look()] == [change.id for change in first]


def test_the_end_of_a_run_resolves_what_fires_and_is_looked_at_once(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[HIGH])
    job.memory(150, times=6)
    assert said(job.look()) == [("firing", "high")]
    job.end()
    assert said(job.look()) == [("resolved", "high")]
    assert job.book.is_done
    assert job.book.standings[0].sentence.endswith("; the run is over")


def test_a_share_of_the_limit(tmp_path: Path) -> None:
    limits = {"limits": {"memory_bytes": 200 * MIB, "cpus": 4.0, "memory_source": "cgroup"}}
    job = Job(tmp_path, rules=[rule("share", key="memory", value="90%", for_=0)], context=limits)
    job.memory(179)
    assert job.look() == []
    job.memory(181)
    (change,) = job.look()
    assert change.standing.sentence == (
        "cgroup_mem_unreclaimable is 181 MiB, the threshold is above 180 MiB (90 % of its limit)"
    )


def test_a_share_of_a_limit_that_is_not_known_says_nothing(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("share", key="memory", value="90%", for_=0)], context={"limits": {}})
    job.memory(100_000)
    assert job.look() == []


def test_every_gpu_is_an_alert_of_its_own(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("idle", key="gpu_util", op="<", value=30, for_="1s")])
    for _ in range(3):
        job.sample(nvml_util={"GPU-a": 10.0, "GPU-b": 90.0})
    assert said(job.look()) == [("firing", "GPU-a")]


def test_memory_of_a_gpu_as_a_share_of_what_it_has(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("full", key="gpu_memory", value="95%", for_=0)])
    job.sample(
        nvml_mem_used={"GPU-a": 96 * MIB, "GPU-b": 10 * MIB},
        nvml_mem_total=dict.fromkeys(alerted.GPUS, 100 * MIB),
    )
    job.sample(nvml_mem_used={"GPU-b": 99 * MIB})  # how much there is was not measured this time
    assert said(job.look()) == [("firing", "GPU-a")]


def test_a_counter_is_compared_by_its_rate(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("busy", key="cpu", value=3, for_=0)])
    job.sample(2.0, cgroup_cputime=5.0)
    assert job.look() == []
    job.sample(2.0, cgroup_cputime=7.0)
    (change,) = job.look()
    assert change.standing.sentence == "cgroup_cputime is 3.5 cores, the threshold is above 3"


def test_what_was_not_measured_says_nothing(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("power", key="nvml_power", value=1, for_=0), HIGH])
    job.memory(150, times=2)
    job.sample(host_mem_available=1)
    job.sample(cgroup_mem_unreclaimable="garbage")
    assert job.look() == []
    assert job.book.standings[0].state is State.PENDING


def test_a_rule_is_held_only_against_the_runs_it_is_about(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("other", key="memory", value=1, for_=0, where="project=other")])
    job.memory(150)
    assert job.look() == []


def test_an_alert_of_a_rule_that_no_longer_applies_is_resolved(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("high", key="memory", value=1, for_=0)])
    job.memory(150)
    job.look()
    job.watcher = type(job.watcher)({}, now=folders.STARTED)
    (change,) = job.look()
    assert said([change]) == [("resolved", "high")]
    assert change.standing.sentence.endswith("; the rule no longer applies")
    assert job.look() == []


def test_loss_of_the_training_loop(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[alert_rule_text.defaults()["high_loss"]])
    turns = []
    for number in range(0, 200, 20):
        job.wall += 20
        job.step(number, loss=12.0 if number < 140 else 2.0)
        turns += said(job.look())
    assert turns == [("firing", "high_loss")]
    job.wall += 60
    job.step(200, loss=2.0)
    assert said(job.look()) == [("resolved", "high_loss")]


def test_the_same_steps_seen_again_say_nothing_new(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("loss", key="loss", value=10, for_="30s")])
    job.step(1, loss=12.0)
    for _ in range(20):
        job.wall += 20
        assert job.look() == []


def test_ranks_are_alerts_of_their_own_and_not_a_number_is_none(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("loss", key="loss", value=10, for_=0)])
    job.step(1, rank=0, loss=float("nan"))
    job.step(1, rank=1, loss=50.0)
    job.step(1, rank=2, loss=1.0)
    (change,) = job.look()
    assert change.standing.instance == "rank 1"
    assert change.standing.sentence == "rank 1: loss is 50, the threshold is above 10"


def test_any_metric_by_the_name_it_was_logged_under(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("temp", key="metric.temperature", value=10, for_=0)])
    job.step(1, temperature=11.0)
    assert said(job.look()) == [("firing", "temp")]


def test_a_run_that_is_not_measured_any_more(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("silent", kind="absence", for_="60s")])
    job.memory(10)
    now = job.wall
    assert job.look(now) == []
    turns = []
    for _ in range(40):
        now += 2
        turns += said(job.look(now))
    assert turns == [("firing", "silent")]
    assert job.book.standings[0].sentence == "no sample for 80 s"
    job.memory(10)
    assert said(job.look(now + 2)) == [("resolved", "silent")]


def test_time_that_nobody_looked_is_no_absence(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("silent", kind="absence", for_="2m")])
    job.memory(10)
    job.look(job.wall)
    job.look(job.wall + 2)
    # a laptop that slept, a server that was stopped
    assert job.look(job.wall + 86_400) == []
    # a clock that was set: who looks began anew
    job.looked_at = None
    assert job.look(job.wall + 2 * 86_400) == []
    assert job.book.standings[0].sentence == "no sample for 62 s"


def test_a_job_that_is_stopped_is_not_absent(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("silent", kind="absence", for_=0)])
    job.memory(10)
    job.look()
    folders.append(
        job.folder / "events.jsonl", {"timestamp": folders.iso(job.wall), "type": "stopped", "details": {}}
    )
    assert job.look(job.wall + 100) == []


def test_a_recorder_that_vanished(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("silent", kind="absence")])
    job.memory(10)
    folders.append(job.folder / "run.jsonl", folders.start_record(**folders.dead_recorder()))
    (change,) = job.look(job.wall + 1)
    assert change.standing.sentence == "its recorder vanished without a word"


def test_what_the_job_itself_says(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("told", kind="told", level="WARN")])
    job.event("alert", title="bad batch", text="loss 1e9", level="ERROR")
    job.event("alert", title="by the way", text="", level="INFO")
    job.event("milestone", title="half way")
    job.event("alert", rule="memory-high", title="our own", level="ERROR")
    (change,) = job.look()
    assert (change.standing.instance, change.standing.sentence) == ("bad batch", "bad batch: loss 1e9")
    job.event("alert", title="bad batch", text="loss 2e9", level="ERROR")
    job.event("alert", text="untitled", level="NOISE")
    (change,) = job.look()
    assert (change.standing.instance, change.standing.sentence) == ("", "untitled")
    assert [one.count for one in job.book.standings] == [2, 1]


def test_a_job_that_raises_a_thousand_alerts_is_told_of_two_hundred(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("told", kind="told")])
    for number in range(300):
        job.event("alert", title=f"bad batch {number}")
    assert len(job.look()) == 200


def told(*findings: Finding, cause: WhyEnded = WhyEnded.COMPLETED) -> Report:
    verdict = Verdict(cause=cause, sentence="it ended so", confidence=1.0)
    return Report(verdict=verdict, health=Health.GOOD, findings=findings)


LEAK = Finding(detector="leak", severity=Severity.WARNING, sentence="memory grows", key="proc_rss_total")
SWAP = Finding(detector="swap", severity=Severity.INFO, sentence="it swapped", rank=3)


def test_a_finding_fires_while_analysis_finds_it(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("found", kind="finding", detector=["leak", "swap"], least="info")])
    job.report = lambda: told(LEAK, SWAP)
    assert said(job.look()) == [("firing", "leak proc_rss_total"), ("firing", "swap rank 3")]
    job.report = lambda: None
    assert job.look() == []
    job.report = lambda: told(SWAP)
    assert said(job.look()) == [("resolved", "leak proc_rss_total")]


def test_a_finding_that_is_not_asked_for(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("found", kind="finding", detector="stall"), rule("bad", kind="finding")])
    job.report = lambda: told(LEAK, SWAP)
    assert [change.standing.rule for change in job.look()] == ["bad"]


def test_a_finding_that_is_made_only_at_the_end_is_told_once(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("found", kind="finding")])
    job.report = lambda: told()
    job.look()
    job.report = lambda: told(LEAK)
    job.end()
    assert said(job.look()) == [("firing", "leak proc_rss_total")]
    assert job.book.standings[0].until is not None


def test_why_a_run_ended(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("ended", kind="verdict", causes=["exception", "oom_cgroup"])])
    job.memory(10)
    assert job.look() == []
    job.end(status="failed", exit_code=1)
    job.report = lambda: told(cause=WhyEnded.EXCEPTION)
    (change,) = job.look()
    assert (change.standing.instance, change.standing.sentence) == ("exception", "it ended so")


def test_a_run_that_ended_well_is_no_alert(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("ended", kind="verdict")])
    job.memory(10)
    job.end()
    assert job.look() == []
    assert job.book == RunBook(run_id=folders.RUN_ID, offset=job.book.offset, is_done=True)


def test_analysis_is_not_asked_while_only_the_end_matters(tmp_path: Path) -> None:
    def never() -> Report:
        raise AssertionError("a running run was analysed")

    job = Job(tmp_path, rules=[rule("ended", kind="verdict")])
    job.report = never
    job.memory(10)
    assert job.look() == []


def test_a_budget_of_gpu_hours_of_one_run(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("gpus", kind="budget", gpu_hours=1)])
    job.sample(nvml_util=dict.fromkeys(alerted.GPUS, 50.0))
    assert job.look(folders.STARTED + 1700) == []
    (change,) = job.look(folders.STARTED + 1900)
    assert change.standing.sentence == "the run spent 1.056 of 1 GPU-hours"


def test_a_budget_of_what_was_not_measured_says_nothing(tmp_path: Path) -> None:
    budgets = [
        rule("gpus", kind="budget", gpu_hours=0),
        rule("kwh", kind="budget", energy_kwh=0),
        rule("cost", kind="budget", cost=0),
    ]
    job = Job(tmp_path, rules=budgets)
    job.memory(10)
    assert job.look(folders.STARTED + 1e6) == []


def test_a_budget_of_energy_and_its_price(tmp_path: Path) -> None:
    budgets = [rule("kwh", kind="budget", energy_kwh=1), rule("cost", kind="budget", cost=0.5)]
    job = Job(tmp_path, rules=budgets, context={"options": {"energy_price": "0.30 EUR"}})
    job.memory(10)
    job.end(summary={"nvml_energy": 2 * 3_600_000})
    assert [change.standing.sentence for change in job.look()] == [
        "the run spent 2 of 1 kWh",
        "the run spent 0.6 of 0.5",
    ]


def test_a_budget_of_many_runs_is_told_by_who_knows_them(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("team", kind="budget", gpu_hours=1, per="project")])
    job.memory(10)
    assert job.look() == []
    budget = Budget(spent=alert_budgets.Spent.GPU_HOURS, limit=1, per=Per.PROJECT)
    job.groups = lambda _, __: alert_budgets.Ledger().signs(budget, job.store, None, folders.STARTED + 7200)
    assert job.look() == []
    job.sample(nvml_util=dict.fromkeys(alerted.GPUS, 50.0))
    (change,) = job.look()
    assert change.standing.sentence == "project app spent 4 of 1 GPU-hours"


def test_a_clock_that_is_set_between_two_steps_fires_nothing(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[rule("high", key="loss", value=10, for_="60s")])
    job.step(1, loss=50.0)
    assert job.look() == []
    job.wall += 86_400
    job.looked_at = None  # two seconds later by any other clock
    job.step(2, loss=50.0)
    assert job.look() == []
    assert [one.state.value for one in job.book.standings] == ["pending"]
