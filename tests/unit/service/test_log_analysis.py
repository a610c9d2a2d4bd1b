"""Logs too large to be read whole."""

from pathlib import Path

from jobmeter.service import log_analysis


def write_log(path: Path, steps: int) -> Path:
    path.write_text("".join(f"step {n} loss {n / 8}\n" for n in range(steps)))
    return path


def test_of_a_large_log_the_first_and_the_last_steps_are_read(tmp_path: Path) -> None:
    view = log_analysis.view(write_log(tmp_path / "x.log", 1000), first_bytes=60, last_bytes=60)
    assert [step.step for step in view.steps] == [0, 1, 2, 998, 999]


def test_a_log_no_larger_than_both_is_read_whole(tmp_path: Path) -> None:
    view = log_analysis.view(write_log(tmp_path / "x.log", 50), first_bytes=600, last_bytes=600)
    assert [step.step for step in view.steps] == list(range(50))


def test_a_text_of_wide_letters_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("".join(f"step {n} loss 1.0\n" for n in range(50)), "utf-16")
    view = log_analysis.view(tmp_path / "x.log", first_bytes=60, last_bytes=60)
    assert len(view.steps) == 50
