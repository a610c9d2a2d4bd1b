"""Windows packed as they are: names and numbers that strict encoders refuse come back readable."""

import zlib

import msgspec
import pytest

from jobmeter.model.view import Window
from jobmeter.stores import codec, tails


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


def test_windows_of_several_kinds_keep_their_order() -> None:
    given = [
        window({("a_x", ""): 1}),
        window({("a_x", ""): 2, ("b_y", ""): 0.5}),
        window({}),
        window({("a_x", ""): 3}),
    ]
    assert tails.decode(tails.encode(given)) == given


def test_windows_packed_by_an_older_version_are_read() -> None:
    row = (5.0, 2, {"proc": (1.0, 2.0)}, {"proc_rss": {"7@9": 4096, "8@9": 1}})
    blob = zlib.compress(msgspec.msgpack.encode([row]))
    assert tails.decode(blob) == [window({("proc_rss", "7@9"): 4096, ("proc_rss", "8@9"): 1})]


@pytest.mark.parametrize(
    "damage", [b"", b"\1", b"\1x", b"x\x9c", b"\1" + zlib.compress(b"\x92\x90\x91\x95\1\1\x80\5\x90")]
)
def test_what_was_not_packed_here_is_refused(damage: bytes) -> None:
    with pytest.raises(codec.DamagedBlobError):
        tails.decode(damage)
