"""Import con-duct's real logs, export them to con-duct again: what it measured is the same."""

import json
from pathlib import Path

import pytest

from jobmeter.exporters import duct as duct_exporter
from jobmeter.model.run import Run, Status
from jobmeter.model.view import RunView
from jobmeter.runfolder import reader
from jobmeter.service import importing, index
from jobmeter.service.windows import Windows
from support import corpus

Record = dict[str, object]

MEASURED = [f"{stat}_{name}" for stat in ("peak", "average") for name in ("rss", "vsz", "pmem", "pcpu")]


def brought(home: Path, source: Path) -> Run:
    """Import one file and read the folder it became."""
    harvest = importing.import_paths(str(home), [str(source)])
    (run,) = harvest.runs
    return reader.read_run(index.folder_of(home, run.run_id))


def exported(run: Run) -> tuple[Record, list[Record]]:
    assert run.folder is not None
    windows = Windows(Path(run.folder))
    parts = duct_exporter.render(RunView(run=run, series={}), windows, prefix="x_")
    info = json.loads(b"".join(parts["info.json"]))
    return info, [json.loads(line) for line in parts["usage.jsonl"]]


def originals() -> list[Path]:
    folders = [corpus.folder(name) for name in ("con-duct", "con-duct-releases")]
    return sorted(path for folder in folders for path in folder.rglob("*info.json") if path.stat().st_size)


def test_the_demo_survives_the_round_trip(tmp_path: Path) -> None:
    run = brought(tmp_path, corpus.folder("con-duct") / "duct_demo_info.json")
    info, usage = exported(run)
    summary = info["execution_summary"]
    assert isinstance(summary, dict)
    assert summary["peak_rss"] == 1517486080
    assert summary["average_rss"] == pytest.approx(501050605.18, abs=0.005)
    assert len(usage) == 226
    assert info["schema_version"] == "0.2.3"
    assert info["duct_version"] == "0.17.0.post4+gf38dcf5"


def test_every_log_survives_the_round_trip(tmp_path: Path) -> None:
    for source in originals():
        theirs = json.loads(source.read_text())
        run = brought(tmp_path, source)
        info, usage = exported(run)
        kept = info["execution_summary"]
        assert isinstance(kept, dict)
        for name in (*MEASURED, "exit_code", "wall_clock_time", "num_samples", "command"):
            assert kept[name] == theirs["execution_summary"][name], (source, name)
        assert info["command"] == theirs["command"]
        assert info["env"] == theirs["env"]
        assert info["gpu"] == theirs["gpu"]
        assert info["message"] == theirs.get("message", "")
        assert {**info["system"], **theirs["system"]} == info["system"]  # type: ignore[dict-item]  # plain JSON
        (lines,) = source.parent.glob(f"{source.name[:-9]}usage.json*")
        _same_lines(usage, [json.loads(line) for line in lines.read_text().splitlines()])


def _same_lines(ours: list[Record], theirs: list[Record]) -> None:
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert our["num_samples"] == their["num_samples"]
        assert our["totals"] == their["totals"]
        assert isinstance(our["averages"], dict)
        for name, mean in their["averages"].items():  # type: ignore[attr-defined]  # plain JSON
            assert our["averages"][name] == pytest.approx(mean, rel=1e-12)
        for pid, process in their["processes"].items():  # type: ignore[attr-defined]  # plain JSON
            kept = our["processes"][pid]  # type: ignore[index]  # plain JSON
            for name in ("rss", "vsz", "pmem", "pcpu", "etime"):
                assert kept.get(name) == process.get(name)


def test_importing_twice_finds_what_is_there(tmp_path: Path) -> None:
    folders = [str(corpus.folder("con-duct")), str(corpus.folder("con-duct-releases"))]
    first = importing.import_paths(str(tmp_path), folders)
    second = importing.import_paths(str(tmp_path), folders)
    assert len(first.runs) == 21
    assert first.skipped == []
    assert second.runs == []
    assert sorted(s.known_run_id or "" for s in second.skipped) == sorted(r.run_id for r in first.runs)
    assert all(skipped.reason.startswith("already imported as ") for skipped in second.skipped)
    assert not second.empty_handed


def test_a_lost_run_stays_lost_with_what_was_seen(tmp_path: Path) -> None:
    run = brought(tmp_path, corpus.folder("con-duct-releases") / "v0.23.0" / "sigterm_usage.jsonl")
    assert run.status is Status.LOST
    assert run.summary["ps_peak_rss_total"] == 1839104
    assert run.exit_code is None
    assert run.provenance.origin == "duct"
    assert "info" in run.provenance.missing


def test_an_imported_folder_is_private_and_holds_the_output(tmp_path: Path) -> None:
    run = brought(tmp_path, corpus.folder("con-duct") / "gallery_asmacdo-gallery-example-1_info.json")
    folder = Path(run.folder or "")
    assert sorted(path.name for path in folder.iterdir()) == ["run.jsonl", "stdout", "usage.jsonl"]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert (folder / "stdout").read_bytes().startswith(b"Step 1\n")
    assert [output.stream for output in run.outputs] == ["stdout"]
