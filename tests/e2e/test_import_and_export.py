"""`jobmeter import` and `jobmeter export` as a person types them."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from support import corpus


class Desk:
    """A directory with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = os.environ | {"JOBMETER_HOME": str(folder / "home")}

    def jobmeter(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "jobmeter", *words],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


DEMO = "20250925T210726Z-593946"


def demo() -> str:
    return str(corpus.folder("con-duct") / "duct_demo_info.json")


def test_import_reports_runs_and_what_was_skipped_as_json(desk: Desk) -> None:
    done = desk.jobmeter("import", "duct", demo(), "/nowhere", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "runs": [{"run_id": DEMO, "format": "duct", "steps": 0, "windows": 226, "events": 0}],
        "skipped": [{"path": "/nowhere", "reason": "no such file"}],
        "passed_by": 0,
    }


def test_a_search_counts_the_texts_that_tell_of_no_job_and_names_the_others(desk: Desk) -> None:
    project = desk.folder / "project"
    (project / ".venv").mkdir(parents=True)
    (project / ".venv" / "train.log").write_text("step: 1/3 loss: 0.5\n")
    (project / "requirements.txt").write_text("torch\n")
    (project / "notes.txt").write_text("call back\n")
    (project / "train.log").write_text("step: 1/3 loss: 0.5\nstep: 2/3 loss: 0.4\n")
    done = desk.jobmeter("import", "project")
    assert done.returncode == 0
    assert [line.split()[1:] for line in done.stdout.splitlines()] == [
        ["log", "0", "windows,", "2", "steps,", "0", "events"]
    ]
    assert done.stderr == "texts without steps or errors passed by: 2 (name one to hear why)\n"
    named = desk.jobmeter("import", "project/notes.txt")
    assert (named.returncode, named.stderr.splitlines()) == (
        2,
        [
            "skipped project/notes.txt: no steps of a training and no known error in it",
            "jobmeter: nothing was imported",
        ],
    )


def test_importing_again_changes_nothing_and_is_no_failure(desk: Desk) -> None:
    desk.jobmeter("import", demo())
    again = desk.jobmeter("import", demo(), "--json")
    assert again.returncode == 0
    document = json.loads(again.stdout)
    assert document["runs"] == []
    assert [row["reason"] for row in document["skipped"]] == [f"already imported as {DEMO}"]


@pytest.mark.parametrize("words", [["duct"], ["/nowhere"], []])
def test_nothing_to_import_is_exit_code_2(desk: Desk, words: list[str]) -> None:
    done = desk.jobmeter("import", *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr


def test_an_imported_run_is_listed_and_shown_with_its_origin(desk: Desk) -> None:
    desk.jobmeter("import", demo())
    (listed,) = json.loads(desk.jobmeter("ls", "--json").stdout)
    assert listed["run_id"] == DEMO
    shown = json.loads(desk.jobmeter("show", "last", "--json").stdout)
    assert shown["summary"]["ps_peak_rss_total"] == 1517486080
    assert "measured by duct" in desk.jobmeter("show", "last").stdout


def test_export_to_con_duct_and_import_again_is_a_round_trip(desk: Desk) -> None:
    desk.jobmeter("import", demo())
    done = desk.jobmeter("export", "last", "--format", "duct", "-o", "back/x_", "--json")
    assert json.loads(done.stdout)["files"] == ["back/x_info.json", "back/x_usage.jsonl"]
    info = json.loads((desk.folder / "back" / "x_info.json").read_text())
    assert info["output_paths"]["prefix"] == "back/x_"
    assert info["execution_summary"]["peak_rss"] == 1517486080
    again = desk.jobmeter("import", "back", "--json")
    assert [run["windows"] for run in json.loads(again.stdout)["runs"]] == [226]


def test_a_bundle_of_a_colleague_is_imported(desk: Desk, tmp_path: Path) -> None:
    desk.jobmeter("run", "--quiet", "--", "sh", "-c", "echo out; sleep 0.2")
    desk.jobmeter("bundle", "last", "-o", "run.tar.gz")
    other = ["import", "run.tar.gz", "--json", "--home", str(tmp_path / "colleague")]
    first, second = json.loads(desk.jobmeter(*other).stdout), json.loads(desk.jobmeter(*other).stdout)
    (run,) = first["runs"]
    assert run["format"] == "bundle"
    assert run["windows"] > 0
    assert first["skipped"] == []
    assert second["runs"] == []
    assert [row["reason"] for row in second["skipped"]] == [f"already imported as {run['run_id']}"]


def test_a_compressed_file_that_is_no_bundle_is_not_imported(desk: Desk) -> None:
    (desk.folder / "x.gz").write_bytes(b"\x1f\x8b\x08 not really")
    done = desk.jobmeter("import", "x.gz", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["skipped"] == [
        {"path": "x.gz", "reason": "no known format: see docs/formats.md"}
    ]


def test_export_refuses_to_overwrite_unless_forced(desk: Desk) -> None:
    desk.jobmeter("import", demo())
    (desk.folder / "run.csv").write_text("precious")
    refused = desk.jobmeter("export", "last", "--format", "csv", "-o", "run.csv")
    assert refused.returncode == 2
    assert (
        refused.stderr
        == "jobmeter: run.csv is there already\nhint: choose another name with -o, or add --force\n"
    )
    assert desk.jobmeter("export", "last", "--format", "csv", "-o", "run.csv", "--force").returncode == 0
    rows = list(csv.reader((desk.folder / "run.csv").read_text().splitlines()))
    assert rows[0] == ["timestamp", "key", "instance", "value", "step", "source"]
    assert ["2025-09-25T21:07:26.216Z", "ps_rss_total", "", "10891264", "", ""] in rows


def test_export_of_a_document_goes_to_stdout(desk: Desk) -> None:
    desk.jobmeter("import", demo())
    document = json.loads(desk.jobmeter("export", "last", "--format", "json").stdout)
    assert document["run"]["run_id"] == DEMO
    (series,) = [row for row in document["series"] if (row["key"], row["instance"]) == ("ps_rss_total", "")]
    assert len(series["values"]) == 226
    assert max(series["values"]) == 1517486080


def test_a_recorded_run_is_exported_with_its_output(desk: Desk) -> None:
    desk.jobmeter("run", "--quiet", "--", "sh", "-c", "echo out; echo err >&2")
    done = desk.jobmeter("export", "last", "--format", "duct", "-o", "x_")
    assert done.returncode == 0
    assert (desk.folder / "x_stdout").read_text() == "out\n"
    assert (desk.folder / "x_stderr").read_text() == "err\n"
    assert json.loads((desk.folder / "x_info.json").read_text())["command"] == "sh -c echo out; echo err >&2"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["last", "--format", "tarot"],
            "jobmeter: unknown format: tarot\nhint: use one of aitk, campaign, csv, duct, json, parquet\n",
        ),
        (["nothing", "--format", "csv"], "jobmeter: unknown run: nothing\n"),
        (["last", "--format", "csv", "-o", "/proc/x/y.csv"], "jobmeter: cannot write /proc/x/y.csv: "),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(desk: Desk, words: list[str], sentence: str) -> None:
    desk.jobmeter("import", demo())
    done = desk.jobmeter("export", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(sentence)
    assert "Traceback" not in done.stderr


def test_a_recorded_run_becomes_two_tables_with_the_values_of_the_csv(desk: Desk) -> None:
    desk.jobmeter("run", "--", "sh", "-c", "echo step 1 loss 0.5; echo step 2 loss 0.25")
    done = desk.jobmeter("export", "last", "--format", "parquet", "-o", "run.parquet", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == ["run.usage.parquet", "run.steps.parquet"]
    usage = parquet.read_table(desk.folder / "run.usage.parquet").to_pylist()
    steps = parquet.read_table(desk.folder / "run.steps.parquet").to_pylist()
    table = list(csv.DictReader(desk.jobmeter("export", "last", "--format", "csv").stdout.splitlines()))
    numbers = [
        (r["key"], r["instance"], r["value"]) for r in usage if r["value"] is not None and r["state"] is None
    ]
    measured = [r for r in table if not r["step"] and r["key"] in {key for key, *_ in numbers}]
    assert [(r["key"], r["instance"], float(r["value"])) for r in measured] == numbers
    assert [(r["step"], r["metric"], r["value"]) for r in steps] == [(1, "loss", 0.5), (2, "loss", 0.25)]
