from dataclasses import replace

from jobmeter.model.sizing import Advice, Confidence, JobSizing, Resource, tidy

ADVICE = Advice(
    resource=Resource.MEMORY,
    advised=4e9,
    runs=7,
    typical=2.5e9,
    largest=3e9,
    low=2e9,
    high=3.123456789e9,
    failure_probability=0.0123456,
    failure_high=0.1,
    confidence=Confidence.MEDIUM,
    method="largest x 1.3",
    asked=16e9,
)


def test_a_failed_run_is_repeated_as_asked_now() -> None:
    assert round(ADVICE.saving or 0, 4) == round(0.75 - 0.0123456, 4)


def test_a_slower_run_is_not_repeated() -> None:
    assert replace(ADVICE, resource=Resource.CPUS, asked=8, advised=2).saving == 0.75


def test_asking_for_more_saves_less_than_nothing() -> None:
    assert replace(ADVICE, asked=2e9).saving == -1.0


def test_what_was_not_asked_for_saves_nothing_that_is_known() -> None:
    free = replace(ADVICE, asked=None)
    assert free.saving is None
    assert "asked" not in free.as_record()
    assert "expected_saving" not in free.as_record()


def test_advice_in_json_has_its_unit_its_interval_and_its_risk() -> None:
    assert ADVICE.as_record() == {
        "unit": "bytes",
        "asked": 16_000_000_000,
        "typical": 2_500_000_000,
        "largest": 3_000_000_000,
        "advised": 4_000_000_000,
        "low": 2_000_000_000,
        "high": 3_123_456_789,
        "failure_probability": 0.0123,
        "failure_probability_high": 0.1,
        "confidence": "medium",
        "runs": 7,
        "method": "largest x 1.3",
        "expected_saving": 0.7377,
    }


def test_a_job_in_json_says_what_is_missing_and_why() -> None:
    job = JobSizing(
        job="train", runs=7, advice={Resource.MEMORY: ADVICE}, missing={Resource.GPUS: "no GPU was seen"}
    )
    record = job.as_record()
    assert (record["job"], record["runs"], record["missing"]) == ("train", 7, {"gpus": "no GPU was seen"})
    assert "input_bytes" not in record
    assert replace(job, input_bytes=5.0).as_record()["input_bytes"] == 5


def test_whole_numbers_stay_whole() -> None:
    assert str(tidy(3.0)) == "3"
    assert tidy(1.23456789) == 1.23457
