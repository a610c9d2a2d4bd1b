"""Which GPU a rank uses, as far as anybody knows, and the definitions of what is kept."""

import pytest

from jobmeter.fleet import gpu, keys
from jobmeter.model import measurement

EIGHT = "\n".join(f"{n}, GPU-{n}, {n}0, 1, 100, 81559, 99.5, 50" for n in range(8))


def mapped(text: str, named: dict[int, int | str | None]) -> dict[int, str]:
    return {rank: one.uuid for rank, one in gpu.of_ranks(gpu.parse(text), named).items()}


def test_every_gpu_of_a_host_is_read() -> None:
    found = gpu.parse(EIGHT)
    assert [one.values["util"] for one in found] == [0, 10, 20, 30, 40, 50, 60, 70]
    assert found[3].values["mem_used"] == 100 * 2**20
    assert found[3].fields() == {"gpu_util": 30, "gpu_mem_used_gb": 100 / 1024}


@pytest.mark.parametrize("cell", ["[N/A]", "[Not Supported]", "N/A"])
def test_a_cell_without_a_value_is_absent(cell: str) -> None:
    (found,) = gpu.parse(f"0, GPU-0, {cell}, 1, 100, 81559, {cell}, 50")
    assert "util" not in found.values
    assert found.fields() == {"gpu_mem_used_gb": 100 / 1024}


@pytest.mark.parametrize("text", ["", "No devices were found", "NVIDIA-SMI has failed because, it could"])
def test_what_names_no_gpu_is_none(text: str) -> None:
    assert gpu.parse(text) == ()


def test_as_many_ranks_as_gpus_are_in_order() -> None:
    assert mapped(EIGHT, dict.fromkeys(range(8, 16))) == {8 + n: f"GPU-{n}" for n in range(8)}


def test_the_only_gpu_is_everybodys() -> None:
    assert mapped("0, GPU-x, 1, 1, 1, 1, 1, 1", {4: None, 5: None}) == {4: "GPU-x", 5: "GPU-x"}


def test_a_gpu_that_is_named_is_that_one_and_otherwise_nobody_knows() -> None:
    assert mapped(EIGHT, {0: 5, 1: "GPU-2", 2: None, 3: 99}) == {0: "GPU-5", 1: "GPU-2"}


def test_the_definitions_are_sound() -> None:
    assert measurement.problems(keys.MEASUREMENTS) == []
    assert {"nvsmi_util", "nvsmi_mem_used", "nvsmi_power", "nvsmi_temp"} <= keys.DEFINITIONS.keys()
