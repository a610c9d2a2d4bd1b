"""Real logs, and why their jobs ended, as reading each of them tells.

Slurm's line without `DUE TO TIME LIMIT` may be that of `scancel`: of a log alone it is told as a time limit, with
half the confidence and both readings in the sentence. `tnnform_nan_2.log` shows a NaN and dies of the GPU's memory.
"""

from pathlib import Path

import pytest

from jobmeter.analysis.verdict import court
from jobmeter.model.report import Cause, LogError, Verdict
from jobmeter.model.view import RunView
from jobmeter.service import log_analysis
from support import corpus

FAILED = {
    "log-cuda-oom/lcnllama_train.err": Cause.OOM_CUDA,
    "log-cuda-oom/leanagent_32_oom.txt": Cause.OOM_CUDA,
    "log-cuda-oom/longnd_abci_oom_old.o9077920": Cause.OOM_CUDA,
    "log-cuda-oom/tnnform_oom_1.log": Cause.OOM_CUDA,
    "log-ddp/condenser_lr_1e6.log": Cause.EXCEPTION,
    "log-ddp/openvla_slurm_childfailed.out": Cause.TIMEOUT,
    "log-ddp/shikra_fsdp_crash.log": Cause.EXCEPTION,
    "log-kernel-oom/oomanalyser_example_archlinux_6_1_1_5116.log": Cause.OOM_HOST,
    "log-kernel-oom/oomanalyser_example_proxmox_cgroup_oom_5294.log": Cause.OOM_CGROUP,
    "log-kernel-oom/oomanalyser_example_ubuntu2110_5605.log": Cause.OOM_HOST,
    "log-nan/condenser_hf_nan_1.log": Cause.NAN_LOSS,
    "log-nan/condenser_hf_nan_2.log": Cause.NAN_LOSS,
    "log-nan/simcsp_pretrain_MLM.log": Cause.NAN_LOSS,
    "log-nan/tnnform_nan_2.log": Cause.OOM_CUDA,
    "log-nccl/bagoftricks_nccl.log": Cause.EXCEPTION,
    "log-nccl/leanagent_9FULL1_nccl.txt": Cause.UNKNOWN,
    "log-oom-kill/vllmcluster_job_oomkill.err": Cause.OOM_CGROUP,
    "log-slurm-timelimit/leanagent_794.txt": Cause.TIMEOUT,
    "log-slurm-timelimit/vllmcluster_timelimit.err": Cause.TIMEOUT,
}
OTHERS = {
    "log-ansi/thinktuning_wandb_output.log": Cause.INTERRUPTED,
    "log-cloudbuild/airag_cloudbuild.log": Cause.COMPLETED,
    "log-cloudbuild/asmgke_cloudbuild_fail.log": Cause.UNKNOWN,
    "log-deepspeed/deepspeed_launch_2rank.log": Cause.COMPLETED,
    "log-docker-build/jetson_buildkit.log": Cause.INTERRUPTED,
    "log-fairseq/wav2vec2_hydra_train.log": Cause.UNKNOWN,
    "log-hf-trainer/condenser_hf_dict.log": Cause.UNKNOWN,
    "log-hf-trainer/deepseekrl_slurm.txt": Cause.UNKNOWN,
    "log-hf-trainer/peft_trl_train.log": Cause.UNKNOWN,
    "log-hf-trainer/peft_trl_wandb_output.log": Cause.DISK_FULL,
    "log-keras/hpc_keras_wandb_output.log": Cause.EXCEPTION,
    "log-lightning/leanagent_146.txt": Cause.UNKNOWN,
    "log-megatron/megatron_finetune.log": Cause.UNKNOWN,
    "log-mmengine/mmaction2_tsn.log": Cause.UNKNOWN,
    "log-nanogpt/modded_nanogpt_ValueEmbed.txt": Cause.COMPLETED,
    "log-nanogpt/tnnform_iter.log": Cause.INTERRUPTED,
    "log-plain/ijepa_finetune.log": Cause.UNKNOWN,
    "log-system/loghub_HPC_2k.log": Cause.UNKNOWN,
    "log-tqdm/lisa_deepspeed_tqdm.log": Cause.UNKNOWN,
    "log-tqdm/peft_trl_train_big.err": Cause.UNKNOWN,
    "log-tqdm/vllmcluster_tqdm.err": Cause.UNKNOWN,
}
EXPECTED = FAILED | OTHERS
DOCUMENT = Path(__file__).parents[2] / "docs" / "verdicts.md"


def shown(name: str) -> RunView:
    folder, _, file = name.partition("/")
    return log_analysis.view(corpus.folder(folder) / file)


def decide(name: str) -> Verdict:
    return court.decide(shown(name))


def errors(name: str) -> dict[str | None, LogError]:
    return {error.signature: error for error in shown(name).log_errors}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_cause_is_the_one_that_reading_it_tells(name: str) -> None:
    assert decide(name).cause is EXPECTED[name]


def test_every_log_of_the_corpus_has_an_expected_cause() -> None:
    there = {f"{path.parent.name}/{path.name}" for path in corpus.ROOT.glob("log-*/*") if path.is_file()}
    assert there == set(EXPECTED)


def test_the_timeouts_of_three_ranks_are_told_as_what_came_of_the_first_ones_end() -> None:
    found = decide("log-cuda-oom/leanagent_32_oom.txt")
    assert found.sentence == (
        "GPU 0 ran out of memory on rank 0: 132 MiB more were asked for, it has 79.3 GiB, 19 MiB were free"
    )
    assert found.evidence[1].sentence == "what came of it on ranks 1, 2, 3"


def test_a_watchdog_message_that_a_terminal_broke_is_read_whole() -> None:
    found = errors("log-cuda-oom/leanagent_32_oom.txt")["nccl_timeout"]
    assert found.fields == {
        "op": "ALLREDUCE",
        "seq": 436,
        "elapsed_seconds": 1800.01,
        "timeout_seconds": 1800.0,
        "last_enqueued": 436,
        "last_completed": 435,
    }
    assert (found.count, found.ranks) == (3, (1, 2, 3))


def test_one_missing_file_on_four_ranks_in_sixteen_runs_is_one_error() -> None:
    found = errors("log-nccl/bagoftricks_nccl.log")["exception"]
    assert (found.type, found.count, found.ranks) == ("OSError", 64, (0, 1, 2, 3))


def test_the_old_wording_gives_all_its_numbers() -> None:
    found = errors("log-cuda-oom/longnd_abci_oom_old.o9077920")["cuda_oom"]
    assert found.fields == {
        "tried_bytes": 20 << 20,
        "total_bytes": round(15.78 * 2**30),
        "free_bytes": 8 << 20,
        "allocated_bytes": round(1.72 * 2**30),
        "reserved_bytes": round(1.75 * 2**30),
        "gpu": 0,
    }


def test_a_kernel_report_gives_the_victim_and_the_limit() -> None:
    found = errors("log-kernel-oom/oomanalyser_example_proxmox_cgroup_oom_5294.log")["kernel_oom"]
    assert found.fields == {
        "pid": 3902942,
        "process": "php-fpm",
        "total_vm_bytes": 14740176 << 10,
        "anon_rss_bytes": 12625252 << 10,
        "constraint": "CONSTRAINT_MEMCG",
        "cgroup": "/lxc/39004",
        "limit_bytes": 31211520 << 10,
        "usage_bytes": 31211520 << 10,
    }
    assert found.timestamp == 1754970843.0


def table() -> str:
    """Lay the expected causes against those found."""
    pairs = [(EXPECTED[name].value, decide(name).cause.value) for name in EXPECTED]
    causes = [cause.value for cause in Cause if cause.value in {cause for pair in pairs for cause in pair}]
    lines = ["| expected | " + " | ".join(causes) + " |", "|---" * (len(causes) + 1) + "|"]
    for expected in causes:
        cells = [str(pairs.count((expected, found)) or "") for found in causes]
        lines.append(f"| {expected} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_the_documented_confusion_table_is_what_comes_out() -> None:
    assert table() in DOCUMENT.read_text()
