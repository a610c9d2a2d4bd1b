"""W&B's log and the files beside it, from bytes put together by an independent writer."""

import json
import math
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from jobmeter.formats import wandb
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status
from support.protowrite import chunk, double, number, varint, wandb_file, wandb_items

START = chunk(1, number(1, 1700000000) + number(2, 250_000_000))


def stamp(seconds: int) -> bytes:
    return number(1, seconds)


def history(step: int, **values: str) -> bytes:
    return chunk(2, wandb_items(1, _step=str(step), _timestamp=f"{1700000000 + step}.5", **values))


RUN = chunk(
    17,
    chunk(1, "abc123")
    + chunk(3, "cats")
    + chunk(4, wandb_items(1, lr="0.001", model='{"layers": 4}', _wandb="{}"))
    + chunk(6, "sweep")
    + chunk(8, "brave-dawn-1")
    + chunk(9, "why")
    + chunk(10, "a")
    + chunk(13, "node7")
    + chunk(17, stamp(1700000000)),
)
ENVIRONMENT = chunk(
    26, chunk(6, "/src/train.py") + chunk(5, "--lr") + chunk(5, "1e-3") + chunk(14, "/usr/bin/python")
)
STATS = chunk(
    7,
    chunk(2, stamp(1700000003))
    + b"".join(
        chunk(3, chunk(1, key) + chunk(16, value))
        for key, value in (
            ("proc.memory.rssMB", "2.5"),
            ("gpu.1.powerWatts", "310.5"),
            ("memory_percent", "40"),
        )
    ),
)
EXIT = chunk(18, number(1, 0) + number(2, 62))


def put(folder: Path, *records: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run-abc123.wandb"
    path.write_bytes(wandb_file([chunk(21, b""), *records]))
    return path


def read(path: Path) -> Imported:
    (run,) = wandb.parse(path)
    return run


def test_a_run_tells_its_facts_its_history_and_its_end(tmp_path: Path) -> None:
    path = put(tmp_path, RUN, ENVIRONMENT, history(0, loss="1"), history(1, loss="0.5"), STATS, EXIT)
    assert formats.recognise(path) == "wandb"
    run = read(path)
    facts = run.run
    assert (facts.name, facts.project, facts.group, facts.message, facts.host) == (
        "brave-dawn-1",
        "cats",
        "sweep",
        "why",
        "node7",
    )
    assert facts.command == ("/usr/bin/python", "/src/train.py", "--lr", "1e-3")
    assert facts.context["config"] == {"lr": 0.001, "model": {"layers": 4}}
    assert (facts.status, facts.exit_code, facts.wall_seconds) == (Status.COMPLETED, 0, 62.0)
    assert (facts.started_at, facts.ended_at) == (1700000000.0, 1700000062.0)
    assert [(step.step, step.timestamp, step.metrics) for step in run.steps] == [
        (0, 1700000000.5, {"loss": 1}),
        (1, 1700000001.5, {"loss": 0.5}),
    ]


def test_figures_of_the_machine_become_windows_in_base_units(tmp_path: Path) -> None:
    run = read(put(tmp_path, RUN, history(0, loss="1"), STATS))
    (window,) = run.windows
    assert window.timestamp == 1700000003.0
    assert window.values == {
        ("wandb_proc_memory_rss", ""): 2621440,
        ("wandb_gpu_power_watts", "1"): 310.5,
        ("wandb_memory_percent", ""): 40,
    }
    assert run.run.definitions["wandb_proc_memory_rss"].unit.value == "bytes"
    assert run.run.summary["wandb_peak_proc_memory_rss"] == 2621440


def test_numbers_are_kept_exactly_and_texts_are_no_metrics(tmp_path: Path) -> None:
    row = history(
        4,
        nan="NaN",
        inf='"Infinity"',
        big="1152921504606846977",
        word='"12"',
        truth="true",
        **{"val.acc": "0.5"},
    )
    (step,) = read(put(tmp_path, RUN, row)).steps
    assert math.isnan(step.metrics.pop("nan"))
    assert step.metrics == {"inf": math.inf, "big": 1152921504606846977, "val.acc": 0.5}


def test_values_in_typed_fields_are_read_too(tmp_path: Path) -> None:
    items = b"".join(
        chunk(1, chunk(2, key) + value)
        for key, value in (
            ("loss", double(6, 0.1)),
            ("count", number(5, (2**60 + 1) << 1)),
            ("minus", number(5, 5)),
            ("note", chunk(7, "x")),
        )
    )
    (step,) = read(put(tmp_path, RUN, chunk(2, items + chunk(2, number(1, 9))))).steps
    assert (step.step, step.timestamp) == (9, None)
    assert step.metrics == {"loss": 0.1, "count": 2**60 + 1, "minus": -3}


def test_records_longer_than_a_block_are_put_together(tmp_path: Path) -> None:
    rows = [history(n, loss=f"0.{n}", pad=json.dumps("y" * (n * 7919 % 90_000))) for n in range(1, 40)]
    path = put(tmp_path, RUN, *rows)
    assert path.stat().st_size > 40 * 32768
    assert [step.metrics["loss"] for step in read(path).steps] == [float(f"0.{n}") for n in range(1, 40)]


def test_a_run_without_an_end_is_lost_and_keeps_what_it_logged(tmp_path: Path) -> None:
    run = read(put(tmp_path, RUN, history(0, loss="1"))).run
    assert (run.status, run.exit_code, run.ended_at) == (Status.LOST, None, None)


def test_a_log_cut_anywhere_gives_whole_rows(tmp_path: Path) -> None:
    rows = [history(n, loss=f"{n}.5") for n in range(5)]
    whole = put(tmp_path, RUN, *rows).read_bytes()
    path, most = tmp_path / "cut.wandb", 0
    for size in range(7, len(whole), 2):
        path.write_bytes(whole[:size])
        try:
            steps = [step.metrics["loss"] for step in read(path).steps]
        except UsageError:
            continue
        assert steps == [n + 0.5 for n in range(len(steps))]
        most = max(most, len(steps))
    assert most == 4


def test_a_damaged_record_costs_its_block_and_is_counted(tmp_path: Path) -> None:
    rows = [history(n, loss=f"{n}.5", pad=json.dumps("y" * 20_000)) for n in range(8)]
    path = put(tmp_path, RUN, *rows)
    raw = bytearray(path.read_bytes())
    raw[40_000] ^= 1
    path.write_bytes(raw)
    run = read(path)
    kept = [int(step.step) for step in run.steps]
    assert kept[0] == 0
    assert kept[-1] == 7
    assert 5 <= len(kept) < 8
    assert run.run.provenance.dropped["records"] >= 1


def test_config_changes_summary_and_alerts_are_merged_in_order(tmp_path: Path) -> None:
    later = chunk(5, wandb_items(1, lr="0.01", late="3") + chunk(2, chunk(1, "model")))
    summary = chunk(3, wandb_items(1, best="0.25", _step="1"))
    alert = chunk(10, chunk(1, "diverged") + chunk(2, "loss is NaN") + chunk(3, "WARN"))
    run = read(put(tmp_path, RUN, history(7, loss="1"), later, summary, alert))
    assert run.run.context["config"] == {"lr": 0.01, "late": 3}
    assert run.run.results == {"best": 0.25}
    (event,) = run.events
    assert (event.type, event.timestamp, event.details["title"]) == ("alert", 1700000007.5, "diverged")


def test_any_file_of_a_run_leads_to_the_whole_run(tmp_path: Path) -> None:
    log = put(tmp_path / "run-1", RUN, history(0, loss="1"), EXIT)
    files = log.parent / "files"
    files.mkdir()
    (files / "wandb-metadata.json").write_text(
        '{"program": "t.py", "python": "3.11", "startedAt": "2023-11-14T22:13:20Z"}'
    )
    (files / "wandb-summary.json").write_text('{"loss": 1, "_step": 0}')
    (files / "config.yaml").write_text("_wandb:\n  value: {}\nwidth:\n  desc: null\n  value: 8\n")
    (files / "output.log").write_text("hello\n")
    runs = [read(path) for path in (log, *sorted(files.glob("*.json")), files / "config.yaml")]
    assert len({run.run.run_id for run in runs}) == 1
    assert runs[0].run.context["config"] == {"width": 8, "lr": 0.001, "model": {"layers": 4}}
    assert runs[0].outputs == {"stdout": files / "output.log"}
    assert len(runs[0].sources) == 5
    assert formats.recognise(files / "config.yaml") == "wandb"


def test_a_summary_alone_is_one_row_that_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "wandb-summary.json"
    path.write_text('{"loss": 0.5, "acc": NaN, "_step": 90, "_timestamp": 1700000090.5, "_runtime": 12}')
    run = read(path)
    (step,) = run.steps
    assert (step.step, step.timestamp, step.metrics["loss"]) == (90, 1700000090.5, 0.5)
    assert "earlier step" in run.run.provenance.inexact["steps"]
    assert "history" in run.run.provenance.missing


@pytest.mark.parametrize("content", [b":W&B\xe1\xbe\x00", b":W&B\xe1\xbe\x00" + bytes(40_000)])
def test_a_log_with_nothing_in_it_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run-x.wandb"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="damaged or empty"):
        wandb.parse(path)


def test_the_writer_of_these_tests_spells_varints_as_the_format_does() -> None:
    assert varint(300) == b"\xac\x02"
    assert varint(-1) == b"\xff" * 9 + b"\x01"
