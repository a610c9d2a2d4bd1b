"""Real logs of real trainings and of jobs that are none: what is in them is read, nothing else is made of them."""

import math
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from jobmeter.model.imported import Imported
from jobmeter.model.view import Step
from support import corpus

WITH_STEPS = {
    # file: steps, family, first step and a value of it, last step and a value of it
    "log-cuda-oom/leanagent_32_oom.txt": (2, "lightning", (0, "it/s", 0.71), (2, "it/s", 0.85)),
    "log-cuda-oom/tnnform_oom_1.log": (3, "nanogpt", (0, "train loss", 10.9219), (1, "val loss", 10.9118)),
    "log-fairseq/wav2vec2_hydra_train.log": (
        43,
        "fairseq",
        (200, "loss", 9.276),
        (4791, "train_loss", 3.924),
    ),
    "log-hf-trainer/condenser_hf_dict.log": (1, "hf", (1, "loss", 0.0), (1, "grad_norm", math.nan)),
    "log-hf-trainer/deepseekrl_slurm.txt": (312, "tqdm", (1, "s/it", 7.35), (312, "s/it", 9.26)),
    "log-hf-trainer/peft_trl_train.log": (
        26,
        "hf",
        (1, "loss", 1.7166),
        (26, "learning_rate", 6.545084971874738e-05),
    ),
    "log-hf-trainer/peft_trl_wandb_output.log": (1, "hf", (260, "loss", 1.4358), (260, "s/it", 2.84)),
    "log-lightning/leanagent_146.txt": (6, "lightning", (10, "it/s", 1.95), (5916, "it/s", 3.19)),
    "log-megatron/megatron_finetune.log": (
        798,
        "megatron",
        (1, "lm loss", 3.010825),
        (798, "lm loss", 2.598619),
    ),
    "log-nan/condenser_hf_nan_1.log": (22, "generic", (1, "loss", math.nan), (22, "loss", math.nan)),
    "log-nan/condenser_hf_nan_2.log": (1, "generic", (1, "loss", math.nan), (1, "co", math.nan)),
    "log-nan/simcsp_pretrain_MLM.log": (8, "hf", (1, "eval_runtime", 171.4911), (8, "eval_loss", math.nan)),
    "log-nan/tnnform_nan_2.log": (1, "nanogpt", (0, "train loss", math.nan), (0, "val loss", math.nan)),
    "log-nanogpt/modded_nanogpt_ValueEmbed.txt": (
        1544,
        "nanogpt",
        (0, "val_loss", 10.8258),
        (1530, "val_loss", 3.2796),
    ),
    "log-nanogpt/tnnform_iter.log": (2, "nanogpt", (0, "train loss", 4.2874), (0, "loss", 4.2662)),
    "log-nccl/bagoftricks_nccl.log": (651, "nanogpt", (0, "val_loss", 6.9314), (10, "train_loss", 4.962)),
    "log-plain/ijepa_finetune.log": (
        50,
        "generic",
        (1, "Train MSE Loss", 0.797599),
        (40, "Train MAE Loss", 0.03347),
    ),
    "log-tqdm/lisa_deepspeed_tqdm.log": (220, "meters", (1, "Loss", 5.3125), (220, "Loss", 1.7812)),
    "log-tqdm/peft_trl_train_big.err": (50, "tqdm", (10, "it/s", 4.0), (500, "it/s", 5.83)),
    "wandb/grpo_wandb_output.log": (14, "hf", (5, "loss", -0.009882), (70, "loss", -0.05263)),
}

WITH_ERRORS_ONLY = (
    "log-ansi/thinktuning_wandb_output.log",
    "log-cloudbuild/asmgke_cloudbuild_fail.log",
    "log-cuda-oom/lcnllama_train.err",
    "log-cuda-oom/longnd_abci_oom_old.o9077920",
    "log-ddp/condenser_lr_1e6.log",
    "log-ddp/openvla_slurm_childfailed.out",
    "log-ddp/shikra_fsdp_crash.log",
    "log-docker-build/jetson_buildkit.log",
    "log-keras/hpc_keras_wandb_output.log",
    "log-kernel-oom/oomanalyser_example_archlinux_6_1_1_5116.log",
    "log-kernel-oom/oomanalyser_example_proxmox_cgroup_oom_5294.log",
    "log-kernel-oom/oomanalyser_example_ubuntu2110_5605.log",
    "log-oom-kill/vllmcluster_job_oomkill.err",
    "log-slurm-timelimit/leanagent_794.txt",
    "log-slurm-timelimit/vllmcluster_timelimit.err",
)
WITH_MILESTONES = ("log-cloudbuild/airag_cloudbuild.log",)
WITHOUT = (
    "log-deepspeed/deepspeed_launch_2rank.log",
    "log-mmengine/mmaction2_tsn.log",
    "log-nccl/leanagent_9FULL1_nccl.txt",
    "log-system/loghub_HPC_2k.log",
    "log-tqdm/vllmcluster_tqdm.err",
)


def path_of(name: str) -> Path:
    folder, _, file = name.partition("/")
    return corpus.folder(folder) / file


def imported(name: str, *, is_named: bool = False) -> Imported:
    (run,) = formats.read(path_of(name), "log", is_named=is_named)
    return run


def is_same(found: float, expected: float) -> bool:
    return found == expected or (math.isnan(found) and math.isnan(expected))


def test_every_log_of_the_corpus_is_named_here() -> None:
    files = {f"{path.parent.name}/{path.name}" for path in corpus.ROOT.glob("log-*/*")}
    named = {*WITH_STEPS, *WITH_ERRORS_ONLY, *WITH_MILESTONES, *WITHOUT}
    assert named - {"wandb/grpo_wandb_output.log"} == files


@pytest.mark.parametrize("name", [*WITH_STEPS, *WITH_ERRORS_ONLY, *WITH_MILESTONES, *WITHOUT])
def test_every_log_is_recognised_as_one(name: str) -> None:
    assert formats.recognise(path_of(name)) == "log"


@pytest.mark.parametrize("name", WITH_STEPS)
def test_steps_are_read_with_their_values(name: str) -> None:
    count, family, first, last = WITH_STEPS[name]
    steps: list[Step] = list(imported(name).steps)
    assert len(steps) == count
    assert steps[0].source == f"log:{family}"
    assert steps[0].step == first[0]
    assert is_same(steps[0].metrics[first[1]], first[2])
    assert steps[-1].step == last[0]
    assert is_same(steps[-1].metrics[last[1]], last[2])


@pytest.mark.parametrize("name", WITH_ERRORS_ONLY)
def test_a_log_of_a_failure_is_kept_with_its_text_and_no_step(name: str) -> None:
    run = imported(name)
    assert list(run.steps) == []
    assert run.run.status.value == "failed"
    assert run.outputs == {"stdout": path_of(name)}


@pytest.mark.parametrize("name", WITHOUT)
def test_a_log_without_steps_or_errors_is_skipped_unless_named(name: str) -> None:
    with pytest.raises(UsageError, match="no steps of a training and no known error"):
        imported(name)
    run = imported(name, is_named=True)
    assert list(run.steps) == []
    assert run.outputs == {"stdout": path_of(name)}


def test_the_steps_of_a_build_are_milestones() -> None:
    run = imported("log-cloudbuild/airag_cloudbuild.log").run
    assert run.context["milestones"] == [
        {"name": "Starting Step #0"},
        {"name": "Finished Step #0"},
        {"name": "Starting Step #1"},
        {"name": "Finished Step #1"},
        {"name": "Starting Step #2"},
        {"name": "Finished Step #2"},
    ]


def test_every_iteration_of_megatron_is_there_and_no_nan() -> None:
    steps = list(imported("log-megatron/megatron_finetune.log").steps)
    assert [step.step for step in steps] == list(range(1, 799))
    assert {step.metrics["number of nan iterations"] for step in steps} == {0}
    assert not any(math.isnan(value) for step in steps for value in step.metrics.values())


def test_times_that_are_nan_in_a_speedrun_are_absent() -> None:
    steps = list(imported("log-nanogpt/modded_nanogpt_ValueEmbed.txt").steps)
    early = [step for step in steps if 1 <= step.step <= 12]
    assert all("step_avg_ms" not in step.metrics for step in early)
    assert [step.metrics["train_loss"] for step in early[:3]] == [10.8258, 10.086, 8.3722]


def test_rows_beside_bars_have_the_steps_wandb_was_told() -> None:
    steps = list(imported("wandb/grpo_wandb_output.log").steps)
    assert [step.step for step in steps] == list(range(5, 71, 5))


def test_a_meter_counts_on_over_epochs() -> None:
    steps = list(imported("log-tqdm/lisa_deepspeed_tqdm.log").steps)
    assert [step.step for step in steps] == list(range(1, 221))
    assert steps[32].metrics["epoch"] == 1


def test_the_clock_of_a_log_gives_its_times() -> None:
    run = imported("log-plain/ijepa_finetune.log")
    assert run.run.started_at == 1745682379.816
    assert run.run.provenance.inexact["timestamps"] == "the log's clock names no zone and is read as UTC"


@pytest.mark.parametrize("name", [*WITH_STEPS, *WITH_ERRORS_ONLY, *WITHOUT])
def test_a_log_cut_anywhere_is_still_read(name: str, tmp_path: Path) -> None:
    whole = path_of(name).read_bytes()
    total = sum(1 for _ in imported(name, is_named=True).steps)
    for share in (0.1, 0.5, 0.99):
        path = tmp_path / "cut.log"
        path.write_bytes(whole[: int(len(whole) * share)])
        (run,) = formats.read(path, "log", is_named=True)
        assert sum(1 for _ in run.steps) <= total
