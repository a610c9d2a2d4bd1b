"""Which keys are recorded, by the user's words."""

from pathlib import Path

import pytest

from jobmeter import collectors
from jobmeter.errors import RecordError
from jobmeter.probes.paths import Paths
from jobmeter.recording import selection


def test_by_default_everything_the_usual_sources_can_read_is_chosen() -> None:
    chosen = selection.default(Paths())
    assert {key.partition("_")[0] for key in chosen.definitions} | set(chosen.missing) == {
        "wait",
        "cgroup",
        "proc",
        "host",
        "psi",
        "netns",
        "nvml",
        "rapl",
    }


def test_nvidia_smi_takes_the_place_of_a_library_that_cannot_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidiactl").touch()
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    chosen = selection.default(Paths(dev=str(tmp_path)))
    assert chosen.missing["nvml"].startswith("libnvidia-ml.so.1 cannot be loaded")
    assert "nvsmi_util" in chosen.definitions
    assert "nvsmi" in chosen.by_collector()


def test_a_default_source_that_is_missing_says_why(tmp_path: Path) -> None:
    chosen = selection.default(Paths(proc=str(tmp_path), sys=str(tmp_path)))
    assert chosen.missing["proc"] == f"no {tmp_path}: not Linux, or not mounted"
    assert not [key for key in chosen.definitions if key.startswith(("proc_", "wait_"))]


def test_some_of_the_default_sources_can_be_chosen() -> None:
    assert {key.partition("_")[0] for key in selection.default(Paths(), only=("wait",)).definitions} == {
        "wait"
    }


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("wait_cputime", {"wait_cputime"}),
        ("wait_cputime, proc_rss ,", {"wait_cputime", "proc_rss"}),
        ("wait_cputime,wait_cputime", {"wait_cputime"}),
        ("proc_read,proc_write,-proc_write_bytes", {"proc_read_bytes"}),
        ("-proc_write_bytes,proc_read,proc_write", {"proc_read_bytes"}),
        ("proc_rss,proc_rss_total,-proc_rss", {"proc_rss_total"}),
    ],
)
def test_keys_prefixes_and_exclusions(text: str, keys: set[str]) -> None:
    assert set(selection.parse(text, Paths()).definitions) == keys


def test_exclusions_alone_leave_the_rest() -> None:
    everything = set(selection.default(Paths()).definitions)
    found = set(selection.parse("-proc,-ps", Paths()).definitions)
    assert found == {key for key in everything if not key.startswith("proc_")}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("proc_rrs", "unknown measurement: proc_rrs"),
        ("prc", "unknown measurement: prc"),
        ("pro", "unknown measurement: pro"),
        ("wait,-nope", "unknown measurement: nope"),
        ("wait,-", "unknown measurement: "),
        ("wait,-wait", "no measurement is left to record"),
        ("\udcff", "unknown measurement: \\udcff"),
        ("x" * 200, "unknown measurement: " + "x" * 80),
    ],
)
def test_words_that_choose_nothing_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(RecordError) as caught:
        selection.parse(text, Paths())
    assert str(caught.value) == sentence
    assert "jobmeter measurements" in caught.value.hint


def test_nothing_asked_for_is_everything() -> None:
    assert selection.parse(" , ", Paths()).definitions == selection.default(Paths()).definitions


def test_what_cannot_be_had_here_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(RecordError) as caught:
        selection.parse("proc_rss", Paths(proc=str(tmp_path)))
    assert str(caught.value) == f"cannot measure proc_rss here: no {tmp_path}: not Linux, or not mounted"


def test_sources_are_read_in_a_fixed_order() -> None:
    grouped = selection.parse("ps_rss,host_mem_available,proc_rss,wait_cputime", Paths()).by_collector()
    assert list(grouped) == ["wait", "proc", "host", "ps"]
    assert grouped["wait"] == frozenset({"wait_cputime"})


def test_every_key_can_be_chosen_by_its_own_name() -> None:
    for name in collectors.ALL:
        module = collectors.load(name)
        if module.missing(Paths()) is not None:
            continue
        for measurement in module.MEASUREMENTS:
            assert measurement.key in selection.parse(measurement.key, Paths()).definitions
