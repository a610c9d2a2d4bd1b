"""Limits and histories: what a guard says of a run."""

from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import check_limits, checking
from jobmeter.service.check_limits import Limit
from support import folders

MIB = 1 << 20


def write_history(home: Path, *cpu_seconds: float, status: str = "completed", first: int = 0) -> list[str]:
    """Write runs of one job, ten minutes apart."""
    ids = []
    for number, seconds in enumerate(cpu_seconds, first):
        run_id = f"20261115T{10 + number // 6:02d}{number % 6}000Z-{number:06x}"
        summary = {"wait_cputime": seconds, "wait_read_bytes": 0}
        folders.write_run(
            home,
            run_id=run_id,
            seconds=1,
            processes=0,
            started=folders.STARTED + 600 * number,
            end={"summary": summary, "status": status},
        )
        ids.append(run_id)
    return ids


def test_limits_are_read_as_people_type_them() -> None:
    share = Limit(key="cpu_seconds", amount=0.05, is_relative=True, is_share=True, given="+5%")
    assert check_limits.parse("cpu_seconds=+5%") == share
    more = Limit(key="memory_peak", amount=100 * MIB, is_relative=True, given="+100MiB")
    assert check_limits.parse("memory_peak_bytes = +100MiB") == more
    assert check_limits.parse("wall=10min") == Limit(key="wall", amount=600.0, given="10min")
    assert check_limits.parse("steps.per_second=-5%").amount == -0.05


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("cpu_seconds", "cpu_seconds is no limit"),
        ("cpu_seconds=", "cpu_seconds= is no limit"),
        ("cpu_seconds=5%", "5% says not whether more or less"),
        ("wall=+3MiB", "wall is not measured in what"),
        ("nonsense=+5%", "nonsense is no key of a run"),
        ("=+5%", "an empty name is no key of a run"),
        ("command=+5%", "command is no number"),
    ],
)
def test_what_is_no_limit_is_refused(given: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        check_limits.parse(given)


def test_keys_know_their_unit_and_which_way_is_worse() -> None:
    assert check_limits.unit_of("proc_peak_rss_total") == "bytes"
    assert check_limits.unit_of("wait_cputime") == "seconds"
    assert check_limits.unit_of("cgroup_pids") == ""
    assert check_limits.is_more_worse("memory_peak")
    assert not check_limits.is_more_worse("samples_per_second")


def test_a_run_within_its_limits_is_good_and_beyond_them_bad(tmp_path: Path) -> None:
    before, after = write_history(tmp_path, 10.0, 10.8)
    assert checking.check(str(tmp_path), after, before, ["cpu_seconds=+10%"]).is_ok
    report = checking.check(str(tmp_path), after, before, ["cpu_seconds=+5%"])
    (one,) = report.checks
    assert not report.is_ok
    assert one.sentence == "cpu_seconds is 10.8 s, +8.0 % against 10 s; +5% allows 10.5 s"
    assert one.as_record()["change_percent"] == 8.0


def test_less_than_a_limit_with_a_minus_is_bad(tmp_path: Path) -> None:
    before, after = write_history(tmp_path, 10.0, 8.0)
    assert not checking.check(str(tmp_path), after, before, ["cpu_seconds=-5%"]).is_ok
    assert checking.check(str(tmp_path), after, before, ["cpu_seconds=-3"]).is_ok


def test_a_ceiling_needs_no_baseline(tmp_path: Path) -> None:
    before, after = write_history(tmp_path, 10.0, 12.0)
    (one,) = checking.check(str(tmp_path), after, before, ["cpu_seconds=11"]).checks
    assert one.sentence == "cpu_seconds is 12 s, +20.0 % against 10 s; allowed is 11 s"
    assert not checking.check(str(tmp_path), after, "history", ["cpu_seconds=11"]).is_ok


def test_without_limits_a_tenth_more_of_what_both_have_is_allowed(tmp_path: Path) -> None:
    before, after = write_history(tmp_path, 10.0, 12.0)
    report = checking.check(str(tmp_path), after, before)
    assert [(one.key, one.limit, one.is_bad) for one in report.checks] == [("cpu_seconds", "+10%", True)]


def test_a_key_the_run_does_not_have_is_no_pass(tmp_path: Path) -> None:
    before, after = write_history(tmp_path, 10.0, 12.0)
    with pytest.raises(UsageError, match="has no loss"):
        checking.check(str(tmp_path), after, before, ["loss=+5%"])


def test_a_failed_run_is_judged_with_a_note(tmp_path: Path) -> None:
    (before,) = write_history(tmp_path, 10.0)
    (after,) = write_history(tmp_path, 3.0, status="failed", first=1)
    report = checking.check(str(tmp_path), after, before)
    assert report.notes == (f"run {after} did not complete (failed): its numbers say little",)


def test_a_run_that_goes_on_is_refused(tmp_path: Path) -> None:
    folders.write_run(tmp_path, ended=False, seconds=1, start=folders.this_recorder())
    with pytest.raises(UsageError, match="is still running"):
        checking.check(str(tmp_path), "last", "history")


def test_a_short_history_is_said_to_be_too_short(tmp_path: Path) -> None:
    ids = write_history(tmp_path, *[10.0] * 4)
    report = checking.check(str(tmp_path), ids[-1], "history")
    assert report.is_ok
    assert report.checks[0].sentence == "cpu_seconds: 3 earlier runs are too few to tell a change"
    assert report.notes == (
        "not enough history of app/nightly: 3 earlier runs completed, a change shows from 8 on",
    )


def test_a_change_is_claimed_with_its_first_run_and_only_once(tmp_path: Path) -> None:
    ids = write_history(tmp_path, *[10.0] * 10, *[12.0] * 4)
    (one,) = checking.check(str(tmp_path), ids[12], "history").checks
    assert (one.is_bad, one.since_run, one.runs) == (True, ids[10], 10)
    assert (
        one.sentence == f"cpu_seconds is 12 s since run {ids[10]}, +20.0 % against 10 s in the 10 runs before"
    )
    (later,) = checking.check(str(tmp_path), ids[13], "history").checks
    assert (later.is_bad, later.told, later.since_run) == (False, "still_worse", ids[10])


def test_a_recovery_is_told(tmp_path: Path) -> None:
    ids = write_history(tmp_path, *[10.0] * 10, *[12.0] * 4, *[10.0] * 3)
    report = checking.check(str(tmp_path), ids[-1], "history")
    assert [one.told for one in report.checks] == ["better"]
    assert report.checks[0].sentence.startswith("cpu_seconds is better: 10 s since run")


def test_a_limit_against_history_is_the_least_change_that_is_claimed(tmp_path: Path) -> None:
    ids = write_history(tmp_path, *[10.0] * 10, *[11.0] * 3)
    assert not checking.check(str(tmp_path), ids[-1], "history", ["cpu_seconds=+5%"]).is_ok
    assert checking.check(str(tmp_path), ids[-1], "history", ["cpu_seconds=+15%"]).is_ok
    assert not checking.check(str(tmp_path), ids[-1], "history", ["cpu_seconds=+0.5"]).is_ok
    assert checking.check(str(tmp_path), ids[-1], "history", ["cpu_seconds=+2s"]).is_ok


def test_runs_that_failed_are_no_history(tmp_path: Path) -> None:
    write_history(tmp_path, *[1.0] * 9, status="failed")
    ids = write_history(tmp_path, 10.0, 10.0, first=9)
    assert checking.check(str(tmp_path), ids[-1], "history").checks[0].runs == 1
