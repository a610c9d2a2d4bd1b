"""What a family rules out by a line's shape, it would not have read: asked of every line of real training logs."""

import pytest

from jobmeter.formats import steplines
from jobmeter.formats.steplines import shapes
from jobmeter.formats.steplines.row import Memory
from support import corpus

MOST_BYTES = 150_000
LOGS = ("deepspeed", "fairseq", "hf-trainer", "keras", "lightning", "megatron", "mmengine", "nanogpt", "tqdm")


def known() -> Memory:
    """Remember what makes every family as willing as it can be."""
    return Memory(step=3, epoch=1, columns=["box_loss", "result:mAP50"], epoch_size=10)


@pytest.mark.parametrize("name", LOGS)
def test_a_family_that_rules_a_shape_out_reads_nothing_of_its_lines(name: str) -> None:
    ruled_out = 0
    for path in sorted(corpus.folder(f"log-{name}").iterdir()):
        text = path.read_bytes()[:MOST_BYTES].decode("utf-8", "replace")
        for line in {line[:1_000] for line in text.splitlines()}:
            shape = shapes.zeroed(line)
            for family, (may_be, parse) in steplines.FAMILIES.items():
                if may_be(shape):
                    continue
                memory = known()
                assert parse(line, memory) is None, (family, line)
                assert memory == known(), (family, line)
                ruled_out += 1
    assert ruled_out
