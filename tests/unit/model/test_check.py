"""What a guard says, as JSON."""

from jobmeter.model.check import Checked, CheckReport


def test_what_is_not_known_is_left_out() -> None:
    one = Checked(key="wall", unit="seconds", told="steady", sentence="all is well")
    assert one.as_record() == {"key": "wall", "told": "steady", "ok": True, "sentence": "all is well"}


def test_one_bad_number_makes_the_report_bad() -> None:
    good = Checked(key="wall", unit="seconds", told="ok", sentence="")
    bad = Checked(key="loss", unit="", told="exceeded", sentence="", is_bad=True, change_percent=7.12345)
    report = CheckReport(run_id="a", against="b", checks=(good, bad), notes=("x",))
    record = report.as_record()
    assert (record["ok"], record["notes"], CheckReport(run_id="a", against="b").is_ok) == (False, ["x"], True)
    assert bad.as_record()["change_percent"] == 7.123
