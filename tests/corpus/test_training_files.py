"""Real files of training tools, found by import alone: every count and value as the tool wrote it."""

import json
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from jobmeter.model.view import Step
from jobmeter.runfolder import reader, records
from jobmeter.service import importing, index
from support import corpus

MINE = frozenset(
    (
        "aitk_db",
        "aitk_loss",
        "hf_trainer",
        "lightning_csv",
        "mlflow",
        "mlflow_db",
        "progress_json",
        "step_table",
        "tensorboard",
        "ugro",
        "ultralytics",
        "wandb",
    )
)
SEGFORMER = "segformer/1/3c7adce791d244d8bf5779f654f8e2e8"


def brought(home: Path, path: Path, *, format_name: str) -> tuple[importing.Brought, list[Step]]:
    """Import one path that gives one run, and read its steps back from the run folder."""
    harvest = importing.import_paths(str(home), [str(path)])
    assert harvest.skipped == []
    (run,) = harvest.runs
    assert run.format == format_name
    steps = list(reader.read_steps(index.folder_of(home, run.run_id)))
    assert run.steps == len(steps)
    assert {step.source for step in steps} <= {format_name}
    return run, steps


def facts(home: Path, run: importing.Brought) -> dict[str, object]:
    return records.read(index.folder_of(home, run.run_id)).merged


def test_every_file_is_claimed_by_one_of_these_formats_at_most_and_none_outside_its_kind() -> None:
    expected = {
        "hf-trainer-state": "hf_trainer",
        "lightning-csvlogger": "lightning_csv",
        "mlflow-mlruns": "mlflow",
        "tensorboard": "tensorboard",
        "ultralytics": "ultralytics",
    }
    seen = 0
    for path in sorted(path for path in corpus.ROOT.rglob("*") if path.is_file()):
        claims = {name for name in MINE & set(formats.ALL) if formats.claims(path, name)}
        kind = path.relative_to(corpus.ROOT).parts[0]
        wanted = {expected[kind]} if kind in expected else set()
        if path.name == "grpo_wandb-metadata.json":
            wanted = {"wandb"}
        assert claims == wanted, path
        seen += bool(claims)
    assert seen == 18


@pytest.mark.parametrize(
    ("name", "count", "last_step", "wall_seconds"),
    [
        ("grpo_trl.json", 40, 200, None),
        ("tau_grpo.json", 1, 10, None),
        ("tiny.json", 4, 40, 472.0904),
        ("whisper_5k.json", 205, 5000, 77350.9963),
    ],
)
def test_each_trainer_state_gives_its_rows_and_not_its_summary(
    tmp_path: Path, name: str, count: int, last_step: int, wall_seconds: float | None
) -> None:
    path = corpus.folder("hf-trainer-state") / name
    run, steps = brought(tmp_path, path, format_name="hf_trainer")
    assert (len(steps), steps[-1].step) == (count, last_step)
    assert {step.timestamp for step in steps} == {None}
    merged = facts(tmp_path, run)
    assert merged.get("wall_seconds") == wall_seconds
    assert merged["status"] == "completed"
    assert "started_at" not in merged


def test_every_number_of_every_trainer_state_comes_back_exactly(tmp_path: Path) -> None:
    for path in sorted(corpus.folder("hf-trainer-state").iterdir()):
        _, steps = brought(tmp_path, path, format_name="hf_trainer")
        rows = [row for row in json.loads(path.read_text())["log_history"] if "train_runtime" not in row]
        assert [{"step": step.step, **step.metrics} for step in steps] == rows


def test_a_grpo_loss_may_be_negative_and_names_keep_their_slashes(tmp_path: Path) -> None:
    path = corpus.folder("hf-trainer-state") / "grpo_trl.json"
    _, steps = brought(tmp_path, path, format_name="hf_trainer")
    assert steps[0].metrics["loss"] == -0.007858997583389283
    assert steps[0].metrics["completions/clipped_ratio"] == 0.9
    assert len(steps[0].metrics) == 32


def test_whisper_keeps_its_evaluations_its_best_and_its_summary(tmp_path: Path) -> None:
    path = corpus.folder("hf-trainer-state") / "whisper_5k.json"
    run, steps = brought(tmp_path, path, format_name="hf_trainer")
    evaluated = [step for step in steps if "eval_loss" in step.metrics]
    assert [step.step for step in evaluated] == [1000, 2000, 3000, 4000, 5000]
    assert evaluated[0].metrics["eval_wer"] == 0.78878255063432
    merged = facts(tmp_path, run)
    assert merged["hf_trainer"]["best_metric"] == 0.7431560204762965  # type: ignore[index]  # plain JSON
    assert merged["config"]["max_steps"] == 5000  # type: ignore[index]  # plain JSON
    folder = index.folder_of(tmp_path, run.run_id)
    assert reader.read_run(folder).results["train_loss"] == 0.01890342615880072


def test_lightning_rows_of_training_and_validation_stay_apart(tmp_path: Path) -> None:
    path = corpus.folder("lightning-csvlogger") / "glitch_metrics.csv"
    _, steps = brought(tmp_path, path, format_name="lightning_csv")
    assert [(step.step, step.metrics) for step in steps] == [
        (49, {"epoch": 0, "train_loss": 0.21007005870342255}),
        (68, {"epoch": 0, "val_loss": 0.21559028327465057}),
        (99, {"epoch": 1, "train_loss": 0.19502906501293182}),
        (137, {"epoch": 1, "val_loss": 0.14366206526756287}),
    ]


@pytest.mark.parametrize(
    "place",
    [
        "",
        "segformer/1/meta.yaml",
        f"{SEGFORMER}/meta.yaml",
        f"{SEGFORMER}/metrics/learning_rate",
        f"{SEGFORMER}/metrics/train/loss",
        f"{SEGFORMER}/metrics/train/decode.acc_seg",
    ],
)
def test_an_mlflow_run_is_the_same_from_any_of_its_files(tmp_path: Path, place: str) -> None:
    run, steps = brought(tmp_path, corpus.folder("mlflow-mlruns") / place, format_name="mlflow")
    assert run.run_id == "20211005T154039Z-13d6f0"
    assert [step.step for step in steps] == [10, 20, 30, 40, 50, 60]
    assert steps[0].timestamp == 1633448439.785
    assert steps[0].metrics == {
        "learning_rate": 3.6003938664524893e-07,
        "train/decode.acc_seg": 10.384514665603637,
        "train/loss": 2.6203076362609865,
    }
    merged = facts(tmp_path, run)
    assert merged["project"] == "SegformerB3FisheyeGenerateBatch12"
    assert (merged["status"], merged["wall_seconds"]) == ("completed", 72.435)


def test_megatron_scalars_are_joined_by_iteration(tmp_path: Path) -> None:
    path = corpus.folder("tensorboard") / "megatron_events.out.tfevents.1623897835.dgx0064"
    run, steps = brought(tmp_path, path, format_name="tensorboard")
    assert [step.step for step in steps] == list(range(1, 101))
    assert steps[0].metrics == {
        "learning-rate": 0.0,
        "lm loss": 11.06849479675293,
        "loss-scale": 4294967296.0,
        "params-norm": 378.3301086425781,
        "samples": 32,
    }
    assert steps[-1].metrics["lm loss"] == 9.000529289245605
    assert steps[-1].metrics["samples"] == 3200
    assert sum("grad-norm" in step.metrics for step in steps) == 84
    assert steps[0].timestamp == pytest.approx(1623897948.771162, abs=1e-6)
    merged = facts(tmp_path, run)
    assert merged["config"]["hidden_size"] == "1024"  # type: ignore[index]  # plain JSON
    assert merged["started_at"] == "2021-06-17T02:43:55.572284Z"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "ftl_events.out.tfevents.1763616773.juan-canfield-MS-7D75.2739217.0",
            "no scalar in it: the run ended before it logged one",
        ),
        (
            "ftl_events.out.tfevents.1763622987.juan-canfield-MS-7D75.2843854.0",
            "no scalar in it: the run ended before it logged one",
        ),
        (
            "lcnllama_events.out.tfevents.hf",
            "no scalar in it, only texts, hyper-parameters or pictures",
        ),
        (
            "lightning_events.out.tfevents.hparams_only",
            "no scalar in it, only texts, hyper-parameters or pictures",
        ),
        (
            "segformer_events.out.tfevents.1630508355",
            "no scalar in it: the run ended before it logged one",
        ),
    ],
)
def test_an_event_file_without_scalars_is_skipped_with_a_sentence(
    tmp_path: Path, name: str, reason: str
) -> None:
    harvest = importing.import_paths(str(tmp_path), [str(corpus.folder("tensorboard") / name)])
    assert harvest.runs == []
    assert [skipped.reason for skipped in harvest.skipped] == [reason]


def test_ultralytics_columns_lose_their_padding_and_epochs_are_steps(tmp_path: Path) -> None:
    path = corpus.folder("ultralytics") / "yolodog_results.csv"
    _, steps = brought(tmp_path, path, format_name="ultralytics")
    assert [step.step for step in steps] == [0, 1, 2]
    assert len(steps[0].metrics) == 14
    assert steps[2].metrics["metrics/mAP50-95(B)"] == 0.57858
    assert steps[0].metrics["train/box_loss"] == 0.33505
    assert steps[0].metrics["lr/pg0"] == 0.070375


def test_wandb_metadata_alone_tells_where_and_how_a_run_was_started(tmp_path: Path) -> None:
    path = corpus.folder("wandb") / "grpo_wandb-metadata.json"
    run, steps = brought(tmp_path, path, format_name="wandb")
    assert steps == []
    merged = facts(tmp_path, run)
    assert merged["started_at"] == "2026-04-25T16:51:54.072117Z"
    assert merged["host"] == "ip-172-31-37-121.ec2.internal"
    assert merged["command"][:4] == [  # type: ignore[index]  # plain JSON
        "/opt/pytorch/bin/python",
        "/home/ec2-user/VSR-Env/train_multi_agent_pipeline.py",
        "--base_model",
        "unsloth/Llama-3.2-3B-Instruct-bnb-4bit",
    ]
    assert merged["git"]["commit"] == "b616458c0486c63d8e1dc9a671b7a44d7f695041"  # type: ignore[index]  # plain JSON
    assert merged["host_details"]["memory_bytes"] == 16117743616  # type: ignore[index]  # plain JSON
    assert merged["gpu"][0]["name"] == "NVIDIA L4"  # type: ignore[index]  # plain JSON
    assert "user1@example.org" not in json.dumps(merged)


@pytest.mark.parametrize("name", sorted(MINE))
def test_any_real_file_named_as_this_format_is_read_or_refused_in_one_sentence(name: str) -> None:
    parsed = refused = 0
    sentences: set[str] = set()
    for path in sorted(path for path in corpus.ROOT.rglob("*") if path.is_file()):
        if path.stat().st_size > 200_000:
            continue
        try:
            runs = list(formats.load(name).parse(path))
        except UsageError as error:
            sentences.add(str(error))
            refused += 1
            continue
        assert all(step.metrics for run in runs for step in run.steps)
        parsed += 1
    assert not any("\n" in sentence for sentence in sentences)
    assert (refused > 200, parsed + refused) == (True, 287)
