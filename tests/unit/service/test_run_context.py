"""What a run was, and the command that records it once more."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobmeter.config import options
from jobmeter.model.report import Recommendation, Severity
from jobmeter.model.run import Provenance, Run, Status
from jobmeter.service import again, analysis, by_id, run_context
from support import folders, served_homes
from support.served_homes import BARE, BUILD, HOSTILE, TRAINED

RUN = Run(
    run_id="r",
    job_id="r",
    status=Status.CANCELLED,
    name="a night",
    project="llm",
    command=("python", "train.py", "--note", "it's late"),
    cwd="/home/u/my jobs",
    context={
        "options": {
            "capture": "all",
            "gpus": "job",
            "timeout": 1.5,
            "on_memory": "95% signal:USR1",
            "wait_for_children": True,
            "pty": None,
            "not_ours": 3,
        },
        "sample_interval": 0.5,
        "report_interval": 10.0,
    },
)


def advice(path: str | None, value: object) -> Recommendation:
    return Recommendation(
        rule="time_request",
        severity=Severity.CRITICAL,
        title="Ask for more time",
        action="Set it",
        impact="Time to finish",
        config_path=path,
        recommended_value=value,
        evidence=(),
    )


def test_the_command_is_the_one_that_was_recorded_with_what_is_no_default() -> None:
    line = again.command(RUN)
    assert line == (
        "cd '/home/u/my jobs' && jobmeter run --name 'a night' --project llm --capture all --timeout 1.5 "
        "--on-memory 95% signal:USR1 --wait-for-children --sample-interval 0.5 "
        "-- python train.py --note 'it'\"'\"'s late'"
    )


def test_the_command_is_one_that_run_takes(tmp_path: Path) -> None:
    words = shlex.split(str(again.command(RUN)).partition(" && ")[2])
    assert words[:2] == ["jobmeter", "run"]
    found, command = options.parse(words[2:], {"JOBMETER_HOME": str(tmp_path)}, str(tmp_path))
    assert (found.name, found.timeout, found.on_memory) == ("a night", 1.5, "95% signal:USR1")
    assert (found.wait_for_children, found.sample_interval) == (True, 0.5)
    assert command == list(RUN.command)


def test_advice_on_an_option_of_ours_stands_on_the_command_and_the_first_counts() -> None:
    told = [advice(None, 3), advice("--memory", "384M"), advice("--timeout", 3), advice("--timeout", 9)]
    assert "--timeout 3 " in str(again.command(RUN, [*told, advice("timeout", 7)]))
    assert "--memory" not in str(again.command(RUN, told))


@pytest.mark.parametrize(
    "run",
    [replace(RUN, command=()), replace(RUN, provenance=Provenance(origin="con-duct"))],
    ids=["no command", "not ours"],
)
def test_what_we_did_not_record_has_no_such_command(run: Run) -> None:
    assert again.command(run) is None


def test_a_run_without_a_folder_or_options_has_the_plain_command() -> None:
    plain = replace(RUN, cwd=None, name=None, project=None, context={})
    assert again.command(plain) == "jobmeter run -- python train.py --note 'it'\"'\"'s late'"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(served_homes.write(tmp_path_factory.mktemp("context") / "home"))


def told(home: str, run_id: str) -> dict[str, Any]:
    found = by_id.ask(home, run_id, run_context.shown)
    # what leaves is JSON, whatever the folder holds
    again_read: dict[str, Any] = json.loads(json.dumps(found))
    return again_read


def test_a_run_tells_its_config_and_what_each_source_measured(home: str) -> None:
    assert told(home, TRAINED)["config"] == {"train": {"num_workers": 2, "batch_size": 8}, "lr": 0.001}
    found = told(home, BUILD)
    by_source = {one["source"]: one["keys"] for one in found["measured"]}
    (cpu,) = [one for one in by_source["wait"] if one["key"] == "wait_cputime"]
    assert (cpu["unit"], cpu["summary"]) == ("seconds", {"wait_cputime": 45.678901})
    assert found["again"].endswith("-- make -j4")
    assert "again_advised" not in found


def test_what_is_not_known_is_absent(home: str) -> None:
    found = told(home, BARE)
    assert found["run_id"] == BARE
    assert "config" not in found
    assert "packages" not in found


def test_what_is_of_another_shape_than_its_name_says_is_left_out(home: str) -> None:
    """A folder may hold anything: those who read an answer rely on its shape."""
    found = told(home, HOSTILE)
    assert found["run_id"] == HOSTILE
    assert "git" not in found


def test_advice_stands_on_the_command_of_a_run_that_is_over(tmp_path: Path) -> None:
    folders.write_run(tmp_path, seconds=3, context={"options": {"timeout": 1000.0}})
    assert "--timeout 4 " in told(str(tmp_path), folders.RUN_ID)["again_advised"]


def test_a_run_that_goes_on_is_not_analysed_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its page asks for the report as well, again and again."""
    folders.write_run(
        tmp_path,
        seconds=3,
        start=folders.this_recorder(),
        context={"options": {"timeout": 1000.0}},
        ended=False,
    )
    monkeypatch.setattr(analysis, "of_run", lambda *_: pytest.fail("it is analysed"))
    found = told(str(tmp_path), folders.RUN_ID)
    assert "--timeout 1000 " in found["again"]
    assert "again_advised" not in found
