from jobmeter.exporters import sizing_lines
from jobmeter.model.sizing import Advice, Confidence, JobSizing, Resource

GIB, MIB = 1 << 30, 1 << 20


def advice(resource: Resource, advised: float, asked: float | None = None) -> Advice:
    return Advice(
        resource=resource,
        advised=advised,
        asked=asked,
        runs=9,
        typical=advised,
        largest=advised,
        low=advised,
        high=advised,
        failure_probability=0.01,
        failure_high=0.1,
        confidence=Confidence.MEDIUM,
        method="largest x 1.1",
    )


def job(name: str = "train", **advised: Advice) -> JobSizing:
    found = {Resource(resource): one for resource, one in advised.items()}
    return JobSizing(job=name, runs=9, advice=found, missing={})


FULL = job(
    memory=advice(Resource.MEMORY, 1500 * MIB, 8 * GIB),
    cpus=advice(Resource.CPUS, 3, 8),
    time=advice(Resource.TIME, 5400, 86400),
    gpus=advice(Resource.GPUS, 2, 4),
)
NOTHING = job("odd")


def test_slurm_reads_binary_megabytes_and_clock_times() -> None:
    assert sizing_lines.slurm([FULL]) == [
        "#SBATCH --mem=1500M",
        "#SBATCH --cpus-per-task=3",
        "#SBATCH --time=01:30:00",
        "#SBATCH --gres=gpu:2",
    ]
    assert sizing_lines.slurm([job(time=advice(Resource.TIME, 2 * 86400 + 3661))]) == [
        "#SBATCH --time=2-01:02:00"
    ]


def test_a_part_of_a_unit_is_rounded_up() -> None:
    assert sizing_lines.slurm([job(memory=advice(Resource.MEMORY, 100 * MIB + 1))]) == ["#SBATCH --mem=101M"]


def test_kubernetes_reads_mebibytes_and_is_not_throttled() -> None:
    assert sizing_lines.kubernetes([FULL]) == [
        "resources:",
        "  requests:",
        "    memory: 1500Mi",
        '    cpu: "3"',
        "  limits:",
        "    memory: 1500Mi",
        "    nvidia.com/gpu: 2",
        "# in the spec of the Job: activeDeadlineSeconds: 5400",
    ]
    assert sizing_lines.kubernetes([job(cpus=advice(Resource.CPUS, 1))]) == [
        "resources:",
        "  requests:",
        '    cpu: "1"',
    ]
    assert sizing_lines.kubernetes([job(gpus=advice(Resource.GPUS, 1))]) == [
        "resources:",
        "  limits:",
        "    nvidia.com/gpu: 1",
    ]


def test_nextflow_repeats_a_failed_task_with_what_is_asked_for_now() -> None:
    assert sizing_lines.nextflow([FULL]) == [
        "process {",
        "    withName: 'train' {",
        "        cpus = 3",
        "        memory = { task.attempt == 1 ? 1500.MB : 8.GB }",
        "        time = { task.attempt == 1 ? 90.min : 1440.min }",
        "        accelerator = 2",
        "        errorStrategy = { task.exitStatus in 137..140 ? 'retry' : 'finish' }",
        "        maxRetries = 2",
        "    }",
        "}",
    ]


def test_nextflow_grows_what_was_asked_for_by_nobody_or_too_little() -> None:
    free = job("it's", memory=advice(Resource.MEMORY, 700 * MIB), time=advice(Resource.TIME, 600, 300))
    lines = sizing_lines.nextflow([free])
    assert "    withName: 'it\\'s' {" in lines
    assert "        memory = { 700.MB * task.attempt }" in lines
    assert "        time = { 10.min * task.attempt }" in lines


def test_nextflow_keeps_what_is_right_already() -> None:
    same = job(memory=advice(Resource.MEMORY, 2 * GIB, 2 * GIB), time=advice(Resource.TIME, 600))
    assert "        memory = 2048.MB" in sizing_lines.nextflow([same])
    odd = job(memory=advice(Resource.MEMORY, 1 * GIB, 1500 * MIB))
    assert "        memory = { task.attempt == 1 ? 1024.MB : 1500.MB }" in sizing_lines.nextflow([odd])
    cpus = job(cpus=advice(Resource.CPUS, 2))
    assert sizing_lines.nextflow([cpus])[2] == "        cpus = 2"


def test_docker_knows_memory_cores_and_gpus() -> None:
    assert sizing_lines.docker([FULL]) == ["docker run --memory=1500m --cpus=3 --gpus=2"]


def test_several_jobs_are_told_apart_by_comments() -> None:
    jobs = [FULL, job("eval\x1b", cpus=advice(Resource.CPUS, 1))]
    assert sizing_lines.slurm(jobs)[5:] == ["# eval\\x1b", "#SBATCH --cpus-per-task=1"]
    assert sizing_lines.docker(jobs) == [
        "# train",
        "docker run --memory=1500m --cpus=3 --gpus=2",
        "# eval\\x1b",
        "docker run --cpus=1",
    ]
    assert sizing_lines.kubernetes(jobs)[0] == "# train"


def test_without_advice_there_is_nothing_to_paste() -> None:
    assert {name: write([NOTHING]) for name, write in sizing_lines.TARGETS.items()} == {
        "docker": [],
        "k8s": [],
        "nextflow": [],
        "slurm": [],
    }
