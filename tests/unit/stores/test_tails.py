"""Windows packed as they are: names and numbers that strict encoders refuse come back readable."""

import pytest

from jobmeter.model.view import Window
from jobmeter.stores import tails


def window(values: dict[tuple[str, str], object]) -> Window:
    return Window(timestamp=5.0, num_samples=2, clock={"proc": (1.0, 2.0)}, values=values)  # type: ignore[arg-type]  # any stored value


def test_numbers_come_back_and_words_are_left_out() -> None:
    given = window({("proc_rss", "7@9"): 4096, ("proc_pdcpu", "7@9"): 12.5, ("proc_cmd", "7@9"): "make"})
    assert tails.decode(tails.encode([given])) == [
        window({("proc_rss", "7@9"): 4096, ("proc_pdcpu", "7@9"): 12.5})
    ]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({("caf\udce9", "x"): 1}, {("caf\\udce9", "x"): 1}),
        ({("key", "caf\udce9"): 1}, {("key", "caf\\udce9"): 1}),
        ({("key", ""): 2**70}, {("key", ""): float(2**70)}),
        ({("key", ""): 2**63 - 1}, {("key", ""): 2**63 - 1}),
        ({("grün", ""): 3}, {("grün", ""): 3}),
    ],
)
def test_names_of_raw_bytes_and_numbers_beyond_64_bits_are_kept_readable(
    given: dict[tuple[str, str], object], kept: dict[tuple[str, str], object]
) -> None:
    assert tails.decode(tails.encode([window(given)])) == [window(kept)]
