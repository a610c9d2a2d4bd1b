"""What a training logged, as fields to filter, sort and list by."""

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import MetricSummary, StepSummary
from jobmeter.service import fields, filters

STEPS = StepSummary(
    count=1200,
    last_step=1199,
    source="sdk",
    steps_per_second=1.25,
    metrics={
        "loss": MetricSummary(first=2.5, last=0.5, low=0.25, high=2.5),
        "eval_loss": MetricSummary(first=1.0, last="NaN", low=1.0, high=1.0, not_finite=1),
        "reward/mean": MetricSummary(first=1, last=7, low=1, high=9),
        "accuracy": MetricSummary(first=0.5, last=0.75, low=0.5, high=0.75),
        "top1": MetricSummary(first=50, last=76, low=50, high=76),
        "step_seconds": MetricSummary(first=0.25, last=0.125, low=0.125, high=0.25),
        "memory_bytes": MetricSummary(first=2**30, last=2**30, low=2**30, high=2**30),
        "inf": MetricSummary(first=1.0, last="Infinity", low=1.0, high=1.0, not_finite=1),
        "sunk": MetricSummary(first=1.0, last="-Infinity", low=1.0, high=1.0, not_finite=1),
    },
)
RUN = Run(
    run_id="r",
    job_id="r",
    status=Status.COMPLETED,
    command=("train",),
    steps=STEPS,
    group="sweep",
    ranks=(0, 1, 2),
    context={"config": {"lr": 1e-4, "optimizer": {"name": "adam"}, "amp": True, "layers": [1, 2]}},
)


def matches(text: str) -> bool:
    return filters.parse(text, now=0.0).matches(fields.of_run(RUN))


@pytest.mark.parametrize(
    "text",
    [
        "loss<1",
        "loss=0.5",
        "loss.last=0.5",
        "metric.loss=0.5",
        "loss.min<0.3",
        "metric.loss.min<0.3",
        "loss.max>=2.5",
        "loss.first>2",
        "eval_loss.max=1",
        "metric.reward/mean=7",
        "metric.reward/mean.max=9",
        "steps.count=1200",
        "steps.last_step>1000",
        "steps.per_second>1",
        "group=sweep",
        "ranks=3",
        "config.lr<0.001",
        "config.optimizer.name=adam",
        "config.amp=true",
        "not eval_loss>0",
        "eval_loss=NaN",
        "loss!=NaN",
        "loss!=nan",
        "eval_loss=nan",
        "metric.acc=0.75",
        "metric.acc.first=0.5",
        "metric.top1=76",
        "metric.time_ms=125",
        "metric.time_ms.max>=250",
        "metric.time_ms<1s",
        "metric.memory=1024",
        "metric.memory>=1GiB",
        "metric.inf>1",
        "metric.inf=inf",
        "metric.inf!=3",
        "metric.sunk<-1e300",
        "metric.sunk=-Infinity",
        "loss<inf",
        "loss>-inf",
        "metric.inf~fin",
    ],
)
def test_the_run_is_found(text: str) -> None:
    assert matches(text)


@pytest.mark.parametrize(
    "text",
    [
        "loss>1",
        "eval_loss<5",
        "eval_loss>=0",
        "metric.other>0",
        "config.layers=1",
        "lr<1",
        "metric.inf<1",
        "metric.sunk>0",
        "loss=inf",
        "metric.acc>0.9",
        "metric.inf=-inf",
    ],
)
def test_the_run_is_not_found(text: str) -> None:
    assert not matches(text)


def test_a_name_that_could_be_anything_is_refused_with_the_way_to_say_it() -> None:
    with pytest.raises(UsageError, match="unknown field wombats") as error:
        filters.parse("wombats>1", now=0.0)
    assert "metric.wombats" in error.value.hint


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("metric.loss", "loss"),
        ("loss.last", "loss"),
        ("metric.wombats.last", "metric.wombats"),
        ("metric.samples", "metric.samples"),
        ("steps.last_step", "steps.last_step"),
        ("tag.x.last", "tag.x.last"),
        ("proc_peak_rss_total", "proc_peak_rss_total"),
        ("step_seconds.min", "step_seconds.min"),
    ],
)
def test_every_field_has_one_name(given: str, kept: str) -> None:
    assert fields.type_of(given) is not None
    assert fields.normal(given) == kept


def test_what_a_training_logged_is_no_summary_key() -> None:
    assert [fields.is_summary_key(name) for name in ("step_seconds", "loss", "wait_cputime", "tag.a_b")] == [
        False,
        False,
        True,
        False,
    ]


def test_a_config_of_thousands_of_keys_does_not_fill_the_list() -> None:
    config = {f"key{number}": number for number in range(5000)}
    run = Run(run_id="r", job_id="r", status=Status.LOST, command=(), context={"config": config})
    assert sum(name.startswith("config.") for name in fields.of_run(run)) == 200
