"""The commands that change what is kept: tags, notes, the bin, clearing up, bundles."""

import json
import tarfile
from pathlib import Path

import pytest

from support import folders
from support.commands import jobmeter

DONE = "20261115T095001Z-7f3a9c"
FAILED = "20261115T101500Z-000002"


@pytest.fixture
def own_home(tmp_path: Path) -> Path:
    """Two ended runs to change at will."""
    home = tmp_path / "home"
    folders.write_run(home, run_id=DONE, seconds=2)
    folders.write_run(home, run_id=FAILED, seconds=2, started=folders.STARTED + 1500)
    return home


def test_tags_notes_and_names_are_added_later(own_home: Path) -> None:
    answer = jobmeter(
        own_home, "tag", "last", "exp=base line", "k-", "--note", "look here", "--name", "second"
    )
    assert (answer.code, answer.text) == (0, f"{FAILED}  exp=base line\n")
    run = json.loads(jobmeter(own_home, "ls", "--json", "-n", "1").out)[0]
    assert (run["tags"], run["notes"], run["name"]) == ({"exp": "base line"}, ["look here"], "second")
    assert jobmeter(own_home, "ls", "-c", "id", "-f", 'tag.exp="base line"').text.split()[1:] == [FAILED]


def test_a_removed_run_can_be_restored(own_home: Path) -> None:
    assert jobmeter(own_home, "rm", "last", DONE).text == f"removed {FAILED}\nremoved {DONE}\n"
    assert jobmeter(own_home, "ls", "--json").out == b"[]\n"
    assert (
        jobmeter(own_home, "rm", "--restore", DONE, "--json").out
        == b'{\n  "restored": [\n    "%s"\n  ]\n}\n' % DONE.encode()
    )
    assert jobmeter(own_home, "ls", "-c", "id").text.split()[1:] == [DONE]


def test_an_unknown_run_among_those_to_remove_removes_none(own_home: Path) -> None:
    assert jobmeter(own_home, "rm", DONE, "nosuch").code == 2
    assert len(json.loads(jobmeter(own_home, "ls", "--json").out)) == 2


def test_gc_keeps_what_it_is_told_to(own_home: Path) -> None:
    planned = jobmeter(own_home, "gc", "--keep", "1", "--dry-run").text.splitlines()
    assert planned[0] == f"would delete {DONE}"
    assert planned[-1].startswith("nothing was done: 1 to delete, 0 to empty from the bin, ")
    assert len(json.loads(jobmeter(own_home, "ls", "--json").out)) == 2
    done = json.loads(jobmeter(own_home, "gc", "--keep", "1", "--json").out)
    assert (done["removed"], done["dry_run"]) == ([DONE], False)
    assert done["freed_bytes"] > 1000
    assert jobmeter(own_home, "ls", "-c", "id").text.split()[1:] == [FAILED]


def test_a_bundle_is_one_file_that_is_not_overwritten(own_home: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.tar.gz"
    assert jobmeter(own_home, "bundle", "last", "-o", str(target)).text == f"{target}\n"
    with tarfile.open(target) as archive:
        assert f"{FAILED}/run.jsonl" in archive.getnames()
    again = jobmeter(own_home, "bundle", "last", "-o", str(target))
    assert (again.code, again.complaint.splitlines()[0]) == (2, f"jobmeter: {target} is there already")
    assert json.loads(jobmeter(own_home, "bundle", "last", "-o", str(target), "--force", "--json").out)[
        "path"
    ] == str(target)
