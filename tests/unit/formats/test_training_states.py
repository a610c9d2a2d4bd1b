"""Trainer states, CSV tables, progress files and UGRO's metrics: odd, cut off, in families."""

import json
import math
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from jobmeter.formats import hf_trainer, lightning_csv, progress_json, step_table, ugro, ultralytics
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status
from jobmeter.model.view import Step

Record = dict[str, object]


def one(found: object) -> Imported:
    (run,) = found  # type: ignore[misc]  # every parser gives an iterable
    return run  # type: ignore[no-any-return]  # same


def state(steps: list[int], **more: object) -> str:
    rows = [{"epoch": step / 10, "loss": 1 / step, "step": step} for step in steps]
    facts = {"global_step": steps[-1], "is_world_process_zero": True, "log_history": rows, "max_steps": 40}
    return json.dumps(facts | more, indent=2)


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_all_checkpoints_of_a_training_are_one_run_that_goes_furthest(tmp_path: Path) -> None:
    first = put(tmp_path / "checkpoint-20" / "trainer_state.json", state([10, 20]))
    last = put(tmp_path / "checkpoint-40" / "trainer_state.json", state([10, 20, 30, 40]))
    final = put(
        tmp_path / "trainer_state.json", state([10, 20, 30, 40], best_model_checkpoint="out/checkpoint-20")
    )
    runs = [one(hf_trainer.parse(path)) for path in (first, last, final)]
    assert len({run.run.run_id for run in runs}) == 1
    assert [step.step for step in runs[0].steps] == [10, 20, 30, 40]
    assert set(runs[0].sources) == {first, last, final}


def test_a_state_of_another_training_in_the_same_folder_stays_its_own(tmp_path: Path) -> None:
    stale = put(tmp_path / "checkpoint-5" / "trainer_state.json", state([5]))
    final = put(tmp_path / "trainer_state.json", state([10, 20]))
    assert one(hf_trainer.parse(final)).sources == (final,)
    assert [step.step for step in one(hf_trainer.parse(stale)).steps] == [5]


def test_checkpoints_on_disk_become_events_with_step_and_bytes(tmp_path: Path) -> None:
    put(tmp_path / "checkpoint-20" / "weights.bin", "x" * 1000)
    put(tmp_path / "checkpoint-100" / "weights.bin", "x" * 3000)
    final = put(
        tmp_path / "trainer_state.json", state([10, 20], best_model_checkpoint=r"C:\out\checkpoint-20")
    )
    events = list(one(hf_trainer.parse(final)).events)
    assert [(event.type, event.details["step"], event.details["bytes"]) for event in events] == [
        ("checkpoint", 20, 1000),
        ("checkpoint", 100, 3000),
    ]
    assert [event.details.get("best") for event in events] == [True, None]
    assert events[0].details["path"] == str((tmp_path / "checkpoint-20").resolve())
    assert events[0].timestamp == (tmp_path / "checkpoint-20" / "weights.bin").stat().st_mtime


def test_nan_infinity_numbers_as_text_and_huge_ones_are_kept(tmp_path: Path) -> None:
    text = (
        '{"global_step": 1, "log_history": [{"loss": NaN, "grad_norm": Infinity, "reward": "-0.5", '
        '"tokens": 9007199254740993, "flag": true, "note": "n/a", "step": "7"}]}'
    )
    (step,) = one(hf_trainer.parse(put(tmp_path / "trainer_state.json", "\ufeff" + text))).steps
    assert step.step == 7
    assert math.isnan(step.metrics.pop("loss"))
    assert step.metrics == {"grad_norm": math.inf, "reward": -0.5, "tokens": 9007199254740993}


def test_a_state_cut_anywhere_gives_whole_rows_or_one_sentence(tmp_path: Path) -> None:
    text = state([10, 20, 30])
    whole = [step.metrics for step in one(hf_trainer.parse(put(tmp_path / "whole.json", text))).steps]
    most = 0
    for size in range(0, len(text), 3):
        path = put(tmp_path / "cut.json", text[:size])
        try:
            metrics = [step.metrics for step in one(hf_trainer.parse(path)).steps]
        except UsageError:
            continue
        assert metrics == whole[: len(metrics)]
        most = max(most, len(metrics))
    assert most == 3


def test_a_state_without_a_row_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no row was logged"):
        hf_trainer.parse(put(tmp_path / "trainer_state.json", '{"global_step": 0, "log_history": []}'))


def test_lightning_takes_hyper_parameters_checkpoints_and_its_place_in(tmp_path: Path) -> None:
    folder = tmp_path / "my_net" / "version_3"
    path = put(folder / "metrics.csv", "step,val_loss,epoch\r\n9,0.5,0\r\n19,nan,1\r\n29,0.2")
    put(folder / "hparams.yaml", "lr: 1e-3\nopt: !!python/object:torch.Adam {beta: 0.9}\n")
    put(folder / "checkpoints" / "epoch=1-step=20.ckpt", "x" * 10)
    put(folder / "checkpoints" / "last.ckpt", "x" * 11)
    run = one(lightning_csv.parse(path))
    assert (run.run.project, run.run.name) == ("my_net", "version_3")
    assert run.run.context["config"] == {"lr": 0.001, "opt": {"beta": 0.9}}
    assert [(event.details.get("step"), event.details["bytes"]) for event in run.events] == [
        (20, 10),
        (None, 11),
    ]
    steps = list(run.steps)
    assert [step.step for step in steps] == [9, 19]
    assert math.isnan(steps[1].metrics["val_loss"])
    assert run.run.provenance.dropped == {"rows": 1}
    assert run.run.status is Status.LOST


def test_a_csv_whose_logger_started_again_loses_only_the_second_header(tmp_path: Path) -> None:
    path = put(tmp_path / "metrics.csv", "epoch,step,loss\n0,1,0.5\nepoch,step,loss\n0,2,0.4\n")
    assert [step.step for step in one(lightning_csv.parse(path)).steps] == [1, 2]


def test_aliases_that_unfold_into_billions_are_left_out(tmp_path: Path) -> None:
    path = put(tmp_path / "metrics.csv", "epoch,step,loss\n0,1,0.5\n")
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    put(tmp_path / "hparams.yaml", bomb)
    assert "config" not in one(lightning_csv.parse(path)).run.context


def test_ultralytics_reads_its_arguments_and_tells_a_finished_training(tmp_path: Path) -> None:
    header = "epoch,time,train/box_loss,metrics/mAP50(B),lr/pg0\n"
    path = put(tmp_path / "results.csv", header + "1,10.5,0.9,0.1,0.01\n2,20.25,0.8,0.2,0.01\n")
    put(tmp_path / "args.yaml", "name: train7\nproject: cats\nepochs: 2\nlr0: 0.01\n")
    put(tmp_path / "weights" / "best.pt", "x")
    put(tmp_path / "weights" / "epoch1.pt", "xx")
    run = one(ultralytics.parse(path))
    assert (run.run.name, run.run.project, run.run.status) == ("train7", "cats", Status.COMPLETED)
    assert run.run.wall_seconds == 20.25
    assert [event.details.get("step") for event in run.events] == [1, None]
    assert formats.recognise(path) == "ultralytics"


PROGRESS: Record = {
    "status": "completed",
    "current_epoch": 1,
    "total_epochs": 2,
    "current_step": 30,
    "total_steps": 30,
    "train_loss": 0.25,
    "eval_loss": None,
    "gpu_utilization_percent": 91,
    "elapsed_seconds": 60,
    "updated_at": "2025-11-20T05:33:00Z",
    "best_eval_loss": 0.3,
    "batch_size": 4,
    "metrics_history": [
        {"step": 10, "epoch": 0.3, "train_loss": 2.45, "timestamp": "2025-11-20T05:32:10Z"},
        {"step": 20, "epoch": 0.6, "train_loss": float("nan"), "timestamp": "2025-11-20T05:32:35Z"},
        {"step": None, "train_loss": 1.0},
    ],
}


def test_progress_json_gives_its_history_and_the_newest_state_as_really_written(tmp_path: Path) -> None:
    path = put(tmp_path / "job_abc-1" / "progress.json", json.dumps(PROGRESS))
    run = one(progress_json.parse(path))
    steps = list(run.steps)
    assert [step.step for step in steps] == [10, 20, 30]
    assert steps[0].metrics == {"epoch": 0.3, "train_loss": 2.45}
    assert steps[2].metrics == {"train_loss": 0.25, "gpu_utilization_percent": 91}
    assert steps[2].timestamp == 1763616780.0
    assert (run.run.name, run.run.status, run.run.wall_seconds) == ("abc-1", Status.COMPLETED, 60.0)
    assert run.run.started_at == 1763616720.0
    assert run.run.results == {"best_eval_loss": 0.3}
    assert run.run.provenance.dropped == {"rows": 1}
    assert formats.recognise(path) == "progress_json"


def test_progress_json_is_read_by_its_documented_names_too(tmp_path: Path) -> None:
    documented = {
        "step": 5,
        "loss": 0.7,
        "gpu_utilization": 80,
        "gpu_memory_used": 4096,
        "gpu_temperature": 61,
    }
    path = put(tmp_path / "progress.json", json.dumps(documented))
    run = one(progress_json.parse(path))
    (step,) = run.steps
    assert step.metrics == {name: value for name, value in documented.items() if name != "step"}
    assert (step.step, step.timestamp, run.run.status) == (5, None, Status.LOST)
    assert formats.recognise(path) == "progress_json"


def test_a_job_that_did_no_step_is_no_run(tmp_path: Path) -> None:
    path = put(tmp_path / "progress.json", '{"status": "queued", "current_step": 0, "total_steps": 10}')
    with pytest.raises(UsageError, match="no step was done yet"):
        progress_json.parse(path)


def ugro_line(rank: int, step: int | None, **more: object) -> str:
    record: Record = {"timestamp": 1763616773.5, "job_id": "j7", "rank": rank, "training_loss": 2.5 - rank}
    record |= {"throughput_tokens_sec": 152.0, "gradient_norm": 1.5, "gpu_util": 80.0} | more
    return json.dumps(record | ({} if step is None else {"step": step}))


def test_ugro_files_of_all_ranks_are_one_run(tmp_path: Path) -> None:
    first = put(tmp_path / "metrics_rank0.jsonl", ugro_line(0, 12) + "\n")
    second = put(tmp_path / "metrics_rank10.jsonl", ugro_line(10, 11) + "\n")
    put(tmp_path / "metrics_rank3.jsonl", ugro_line(3, 5, job_id="other") + "\n")
    for path in (first, second):
        run = one(ugro.parse(path))
        assert [(step.rank, step.step, step.metrics["training_loss"]) for step in run.steps] == [
            (0, 12, 2.5),
            (10, 11, -7.5),
        ]
        assert run.run.name == "j7"
        assert run.sources == (first, second)
    assert formats.recognise(second) == "ugro"


def test_ugro_rows_without_a_step_are_counted_per_rank_and_say_so(tmp_path: Path) -> None:
    stamped = {"timestamp": "2025-11-20T05:32:10Z"}
    lines = [ugro_line(rank, None, **stamped) for rank in (0, 1, 0, 1)]
    path = put(tmp_path / "metrics.jsonl", "\n".join([*lines, lines[0][:40]]))
    run = one(ugro.parse(path))
    assert [(step.rank, step.step) for step in run.steps] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert {step.timestamp for step in run.steps} == {1763616730.0}
    assert run.run.provenance.dropped == {"lines": 1}
    assert "step" in run.run.provenance.inexact


@pytest.mark.parametrize(
    "shape",
    [
        lambda rows: rows[0],
        lambda rows: rows,
        lambda rows: {"job_id": "j7", "metrics": rows},
        lambda rows: {"job_id": "j7", "ranks": {"0": rows[0], "1": rows[1]}},
    ],
)
def test_training_metrics_json_is_one_record_a_list_or_by_rank(tmp_path: Path, shape: object) -> None:
    rows = [json.loads(ugro_line(rank, 3)) for rank in (0, 1)]
    given = shape(rows)  # type: ignore[operator]  # a function of the rows
    path = put(tmp_path / "training_metrics.json", json.dumps(given))
    steps = list(one(ugro.parse(path)).steps)
    expected = [(0, 3), (1, 3)] if given is not rows[0] else [(0, 3)]
    assert [(step.rank, step.step) for step in steps] == expected
    assert formats.recognise(path) == "ugro"


def test_a_training_metrics_json_of_somebody_else_is_not_claimed(tmp_path: Path) -> None:
    path = put(tmp_path / "training_metrics.json", '{"test_loss": 0.5, "accuracy": 0.9}')
    assert formats.recognise(path) is None


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("train.csv", "iter;loss;time\n1;0.5;12.5\n2;0.25;13\n", [(1, {"loss": 0.5, "time": 12.5}, None)]),
        ("log.tsv", "Epoch\taccuracy\tloss\n0\t0.5\t1.5\n", [(0, {"accuracy": 0.5, "loss": 1.5}, None)]),
        (
            "a.jsonl",
            '{"step": 4, "train_loss": 1, "timestamp": 1763616773}\n',
            [(4, {"train_loss": 1}, 1763616773.0)],
        ),
        ("b.jsonl", '{"global_step": 4, "lr": "1e-4", "time": 0.25}\n{"glo', [(4, {"lr": 0.0001}, None)]),
    ],
)
def test_a_plain_table_of_steps_is_read_as_a_last_resort(
    tmp_path: Path, name: str, text: str, expected: list[tuple[int, dict[str, float], float | None]]
) -> None:
    path = put(tmp_path / name, text)
    assert formats.recognise(path) == "step_table"
    steps: list[Step] = list(one(step_table.parse(path)).steps)
    assert [(step.step, step.metrics, step.timestamp) for step in steps][: len(expected)] == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nab.csv", "timestamp,value\n2014-02-14 14:27:00,51.8\n"),
        ("emissions.csv", "timestamp,project_name,duration,emissions\n2024,a,1.5,0.2\n"),
        ("steps.csv", "step,description\n1,mix the flour\n"),
        ("people.csv", "step,class\n1,0.5\n"),
        ("events.jsonl", '{"step": 3, "message": "saved"}\n'),
        (
            "mine.jsonl",
            '{"timestamp":"2026-01-01T00:00:00Z","step":1,"rank":0,"source":"sdk","metrics":{"loss":1}}\n',
        ),
        ("empty.csv", ""),
    ],
)
def test_a_table_that_is_no_training_is_nobodys(tmp_path: Path, name: str, text: str) -> None:
    assert not step_table.sniff(text.encode(), name)


def test_rows_of_a_validation_never_give_the_loss_of_the_training(tmp_path: Path) -> None:
    path = put(tmp_path / "metrics.csv", "step,type,loss\n0,val,10.8\n1,train,9.5\n1,val,9.6\n")
    assert [step.metrics for step in one(formats.read(path, "lightning_csv", is_named=False)).steps] == [
        {"val/loss": 10.8},
        {"loss": 9.5},
        {"val/loss": 9.6},
    ]


def test_the_nameless_table_of_yolov7_has_the_names_of_its_columns(tmp_path: Path) -> None:
    row = "  {}/99  9.24G  0.089  0.018  0.027  0.135  193  640  0.024  0.019  0.002  0.0003  0.118  0.032  0.029\n"
    path = put(tmp_path / "results.txt", row.format(0) + row.format(1))
    assert formats.recognise(path) == "ultralytics"
    steps = list(one(ultralytics.parse(path)).steps)
    assert [step.step for step in steps] == [0, 1]
    assert steps[0].metrics["train/box_loss"] == 0.089
    assert steps[0].metrics["metrics/mAP_0.5:0.95"] == 0.0003
    assert steps[0].metrics["val/cls_loss"] == 0.029


def test_the_json_of_mmcv_goes_on_counting_over_epochs(tmp_path: Path) -> None:
    rows = [
        {"env_info": "sys.platform: linux\n" + "x" * 5000, "seed": None},
        {"mode": "train", "epoch": 1, "iter": 50, "lr": 0.002, "loss": 1.1},
        {"mode": "train", "epoch": 1, "iter": 100, "lr": 0.002, "loss": 1.0},
        {"mode": "val", "epoch": 1, "iter": 625, "lr": 0.02, "bbox_mAP": 0.1},
        {"mode": "train", "epoch": 2, "iter": 50, "lr": 0.002, "loss": 0.9},
    ]
    path = put(tmp_path / "20210513_100000.log.json", "".join(json.dumps(row) + "\n" for row in rows))
    assert formats.recognise(path) == "step_table"
    found = [(step.step, step.metrics) for step in one(step_table.parse(path)).steps]
    assert [step for step, _ in found] == [50, 100, 100, 150]
    assert found[2][1] == {"epoch": 1, "val/lr": 0.02, "val/bbox_mAP": 0.1}


def test_the_log_of_llama_factory_counts_its_current_steps(tmp_path: Path) -> None:
    rows = [
        {"current_steps": step, "total_steps": 90, "loss": 1.5, "lr": 5e-05, "epoch": 1.0} for step in (5, 10)
    ]
    path = put(tmp_path / "trainer_log.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert formats.recognise(path) == "step_table"
    assert [step.step for step in one(step_table.parse(path)).steps] == [5, 10]
