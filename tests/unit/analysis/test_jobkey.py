import shlex

import pytest

from jobmeter.analysis import jobkey
from jobmeter.model.run import Provenance, Run, Status


def run(command: str = "", **facts: object) -> Run:
    known: dict[str, object] = {"run_id": "r1", "job_id": "j1", "status": Status.COMPLETED}
    return Run(command=tuple(shlex.split(command)), **(known | facts))  # type: ignore[arg-type]  # facts of a test


def test_another_learning_rate_is_the_same_job() -> None:
    assert jobkey.job_key(run("python train.py --lr 1e-4")) == "python train.py"
    assert jobkey.job_key(run("python train.py --lr 2e-4 --num_workers=8")) == "python train.py"


def test_another_script_is_another_job() -> None:
    assert jobkey.job_key(run("python train_v2.py")) == "python train_v2.py"
    assert jobkey.job_key(run("python train_v1.py")) == "python train_v1.py"


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("/opt/conda/bin/python3.11 -u -X dev -W ignore /home/u/src/train.py --lr 1", "python train.py"),
        ("python -m pkg.train --lr 1", "python -m pkg.train"),
        ("python -", "python -"),
        ("python", "python"),
        ("python -i", "python"),
        ("python manage.py migrate --fake app", "python manage.py migrate"),
        ("make -j4 build", "make build"),
        ("make test CC=gcc", "make test"),
        ("make -j 4 -- test", "make test"),
        ("samtools sort -@ 4 /data/a.bam", "samtools sort"),
        ("samtools index b.bam", "samtools index"),
        ("./simulate 3 7.5 sample12", "simulate sample"),
        ("./run_20261115.sh", "run.sh"),
        ("/tmp/job-1731661234.sh", "job.sh"),
        ("20261115", "20261115"),
        ("python 3f2a91bc77de", "python 3f2a91bc77de"),
        ("java -Xmx4g -cp a.jar:b.jar Main in.txt", "java Main"),
        ("java -jar tools/picard.jar MarkDuplicates I=a.bam", "java -jar picard.jar MarkDuplicates"),
        ("Rscript plot.R", "rscript plot.R"),
    ],
)
def test_the_command_line_names_a_job_without_paths_options_and_numbers(command: str, key: str) -> None:
    assert jobkey.job_key(run(command)) == key


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --nproc_per_node 8 --standalone train.py --lr 1",
        "torchrun --nproc-per-node=8 train.py",
        "python -m torch.distributed.run --nproc_per_node=2 train.py",
        "accelerate launch --config_file cfg.yml --multi_gpu train.py",
        "python -m accelerate.commands.launch --num_processes 2 train.py",
        "deepspeed --num_gpus 2 train.py --deepspeed ds.json",
        "srun -n4 --gres gpu:1 --exclusive python train.py",
        "srun --ntasks 4 torchrun --nnodes 2 train.py",
        "mpirun -np 4 -x NCCL_DEBUG=INFO python train.py",
        "env A=1 B=2 nohup nice -n 10 python train.py",
        "CUDA_VISIBLE_DEVICES=0 python train.py",
        "timeout --foreground 2h python train.py",
        "uv run --frozen train.py",
        "conda run -n torch python train.py",
        "apptainer exec --nv image.sif python train.py",
        "docker run --rm --gpus all pytorch:24.1 python train.py",
        "stdbuf -oL python train.py",
        "jobmeter run --name x -- python train.py",
        "bash -c 'cd src && python train.py --lr 1 > log 2>&1'",
        "bash -euo pipefail -c 'source venv/bin/activate; conda activate x; exec python train.py | tee log'",
        "sh -c 'if test -f a; then python train.py; fi'",
        "sbatch --mem 4G --wrap='python train.py --lr 1'",
        "sbatch --parsable --wrap 'python train.py'",
    ],
)
def test_launchers_are_looked_through(command: str) -> None:
    assert jobkey.job_key(run(command)) == "python train.py"


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("torchrun --nproc_per_node 2 -m pkg.train", "python -m pkg.train"),
        ("torchrun --no-python ./simulate", "simulate"),
        ("accelerate config", "accelerate config"),
        ("accelerate launch", "accelerate launch"),
        ("python -m coverage report", "python -m coverage report"),
        ("docker run --rm registry.example/tools/fastqc:0.12", "fastqc:0.12"),
        ("nextflow run nf-core/rnaseq -profile test", "rnaseq"),
        ("torchrun", "torchrun"),
        ("sbatch --parsable -p gpu job.sh 3", "job.sh"),
    ],
)
def test_a_launcher_that_starts_something_else_says_what(command: str, key: str) -> None:
    assert jobkey.job_key(run(command)) == key


def test_a_script_of_several_commands_is_named_by_those_that_work() -> None:
    script = (
        "#!/bin/bash\nset -e\nmkdir -p out\nfastqc -t 4 'a b.fq'\n(cd x; bwa mem -t 4 ref.fa r.fq > o.sam)\n"
    )
    assert jobkey.command_key((script,)) == "fastqc && bwa mem"
    assert jobkey.job_key(run("bash job.sh 3")) == "job.sh"
    assert jobkey.job_key(run("bash -x --login job.sh")) == "job.sh"
    assert jobkey.job_key(run("bash")) == "sh"
    assert jobkey.job_key(run("bash -c")) == "j1"


def test_a_script_that_only_prepares_is_named_by_that() -> None:
    assert jobkey.job_key(run("bash -c 'sleep 5'")) == "sleep"


def test_a_quote_that_is_never_closed_does_not_stop_the_reader() -> None:
    assert jobkey.command_key(("fastqc -t 4 don't",)) == "fastqc don't"


def test_code_on_the_command_line_is_told_apart_by_its_text_without_numbers() -> None:
    first, second = jobkey.job_key(run("python -c 'f(1)'")), jobkey.job_key(run("python -c 'f(22)'"))
    assert first == second
    assert first.startswith("python -c ")
    assert first != jobkey.job_key(run("python -c 'g(1)'"))


def test_a_command_line_that_goes_round_in_circles_names_no_job() -> None:
    assert jobkey.command_key(("nohup",) * 20 + ("make",)) == ""


def test_a_name_somebody_gave_wins() -> None:
    assert jobkey.job_key(run("python train.py", name="nightly")) == "nightly"
    assert jobkey.job_key(run("python train.py", name="base", project="vision")) == "vision/base"
    assert jobkey.job_key(run("python train.py", project="vision")) == "vision/python train.py"


def test_dates_and_serial_numbers_in_a_name_are_not_the_job() -> None:
    assert jobkey.job_key(run(name="nightly-2026-11-15")) == "nightly"
    assert jobkey.job_key(run(name="nightly-20261116T031500Z")) == "nightly"
    assert jobkey.job_key(run(name="resnet50")) == "resnet50"
    assert jobkey.job_key(run(name="2026-11-15")) == "2026-11-15"
    assert jobkey.job_key(run("make all", name="59b3d4de-2b08-4a7c-a78d-3f2c8560439c")) == "make all"


def test_the_tasks_of_an_array_are_one_job() -> None:
    assert jobkey.job_key(run(name="align_3", job_id="17_3")) == "align"
    assert jobkey.job_key(run(name="align", tags={"job": "17_4"})) == "align"
    assert jobkey.job_key(run(name="align[5]")) == "align"


def test_a_task_of_a_workflow_is_named_by_its_process() -> None:
    nextflow = Provenance(origin="nextflow")
    named = run(name="NF:BWA (s1)", tags={"process": "NF:BWA"}, provenance=nextflow)
    assert jobkey.job_key(named) == "NF:BWA"
    assert jobkey.job_key(run(name="NF:BWA (s2)", provenance=nextflow)) == "NF:BWA"


def test_a_run_of_which_nothing_is_known_is_like_no_other() -> None:
    assert jobkey.job_key(run()) == "j1"
    assert jobkey.job_key(run("A=1")) == "j1"
