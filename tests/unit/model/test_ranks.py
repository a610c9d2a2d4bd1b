"""A process's place in a distributed job, by the variables of real launchers."""

import pytest

from jobmeter.model import ranks

TORCHRUN = {"RANK": "5", "WORLD_SIZE": "16", "LOCAL_RANK": "1", "GROUP_RANK": "2"}
STEP = {
    "SLURM_PROCID": "3",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_LOCALID": "3",
    "SLURM_NODEID": "0",
    "SLURM_STEP_ID": "0",
}


def found(environ: dict[str, str]) -> tuple[int, int, int | None, int | None] | None:
    place = ranks.place(environ)
    return None if place is None else (place.rank, place.world_size, place.local_rank, place.node_rank)


def test_torchrun_says_rank_and_node() -> None:
    assert found(TORCHRUN) == (5, 16, 1, 2)


def test_torchrun_inside_a_slurm_step_wins() -> None:
    assert found(STEP | TORCHRUN) == (5, 16, 1, 2)


def test_a_slurm_step_has_ranks() -> None:
    assert found(STEP) == (3, 8, 3, 0)
    older = {name: value for name, value in STEP.items() if name != "SLURM_STEP_NUM_TASKS"}
    assert found(older | {"SLURM_NTASKS": "4"}) == (3, 4, 3, 0)


def test_a_batch_script_is_no_rank_although_slurm_numbers_it() -> None:
    assert found({"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_LOCALID": "0"}) is None


def test_mpi_says_it_under_its_own_names() -> None:
    assert found(
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
    ) == (1, 2, 1, None)
    assert found({"PMI_RANK": "0", "PMI_SIZE": "4"}) == (0, 4, None, None)


def test_lightning_names_only_the_place_on_the_node() -> None:
    assert found({"WORLD_SIZE": "2", "LOCAL_RANK": "1", "NODE_RANK": "0"}) == (1, 2, 1, 0)
    assert found({"WORLD_SIZE": "4", "LOCAL_RANK": "1", "NODE_RANK": "1"}) is None


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"RANK": "0"},
        {"RANK": "-1", "WORLD_SIZE": "2"},
        {"RANK": "2", "WORLD_SIZE": "2"},
        {"RANK": "first", "WORLD_SIZE": "2"},
        {"RANK": "٣", "WORLD_SIZE": "4"},
    ],
)
def test_nonsense_is_no_place(environ: dict[str, str]) -> None:
    assert found(environ) is None


def test_every_variable_asked_is_named() -> None:
    assert set(TORCHRUN) | set(STEP) <= ranks.NAMES
