"""The processes of one launch share a name, and two launches never do."""

import pytest

from jobmeter.probes import jobids


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "node-7@1"),
        ({"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0"}, "slurm-17.0"),
        ({"SLURM_JOB_ID": "17"}, "slurm-17"),
        ({"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "4294967290"}, "slurm-17"),
        ({"SLURM_JOB_ID": "17", "TORCHELASTIC_RUN_ID": "17"}, "slurm-17"),
        ({"SLURM_JOB_ID": "17", "TORCHELASTIC_RUN_ID": "none"}, "slurm-17"),
        ({"SLURM_JOB_ID": "17", "TORCHELASTIC_RUN_ID": "ab-c"}, "slurm-17-ab-c"),
        ({"TORCHELASTIC_RUN_ID": "ab-c"}, "torchelastic-ab-c"),
        ({"TORCHELASTIC_RUN_ID": "none"}, "node-7@1"),
        ({"PMIX_NAMESPACE": "prterun-node-99@1"}, "prterun-node-99@1"),
        ({"OMPI_MCA_ess_base_jobid": "3221225473"}, "3221225473"),
    ],
)
def test_the_job_is_named_by_its_launcher(environ: dict[str, str], name: str) -> None:
    assert jobids.shared(environ, "node-7@1") == name
