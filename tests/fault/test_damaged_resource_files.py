"""Resource files damaged at random: whatever is left of them is read or refused, and nothing else happens."""

import random
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from support import corpus

FOLDERS = (
    "batch-accounting", "dcgm", "docker-stats", "energy", "htcondor-log", "intel-gpu", "nextflow-trace",
    "nvidia-smi-csv", "nvidia-smi-dmon", "nvidia-smi-table", "nvidia-smi-xml", "rocm-smi", "slurm-json",
    "slurm-sacct-json", "slurm-sacct-parsable", "slurm-sacct-table", "slurm-scontrol", "slurm-seff", "sysstat-cli",
    "tegrastats",
)  # fmt: skip
PIECES = (
    b",",
    b"|",
    b":",
    b"-",
    b"9" * 25,
    b"nan",
    b"\n",
    b"\t",
    b"\xff",
    b"{",
    b"1e999",
    b"[N/A]",
    b"-1",
    b"\0",
)
HEAD_BYTES, ROUNDS, WOUNDS = 12_000, 4, 30


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Overwrite, insert, cut out, repeat and shuffle."""
    data = bytearray(content)
    for _ in range(chance.randint(1, WOUNDS)):
        place, kind = chance.randrange(len(data) + 1), chance.randrange(5)
        if kind == 0:
            data[place : place + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            data[place:place] = chance.choice(PIECES)
        elif kind == 2:
            del data[place : place + chance.randint(1, 30)]
        elif kind == 3:
            data[place:place] = data[place : place + 100]
        else:
            lines = bytes(data).split(b"\n")
            chance.shuffle(lines)
            data = bytearray(b"\n".join(lines))
    return bytes(data[: chance.randrange(len(data) + 1)] if chance.random() < 0.2 else data)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_damaged_file_is_read_or_refused(folder: str, tmp_path: Path) -> None:
    chance = random.Random(folder)
    for source in sorted(path for path in corpus.folder(folder).rglob("*") if path.is_file()):
        format_name = formats.recognise(source)
        assert format_name is not None
        content = source.read_bytes()[:HEAD_BYTES]
        for _ in range(ROUNDS):
            path = tmp_path / source.name
            path.write_bytes(damaged(content, chance))
            try:
                found = list(formats.load(format_name).parse(path))
            except UsageError:
                continue
            assert found
            for item in found:
                assert all(window.num_samples == 1 for window in item.windows)
