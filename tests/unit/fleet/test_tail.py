"""What of a growing file is new, and when it is another file."""

from hypothesis import given
from hypothesis import strategies as st

from jobmeter.fleet.tail import BLOCK, PIECE, Found, Got, Tail


def read(tail: Tail, data: bytes) -> bytes:
    """Read on until there is no more; give what was new."""
    new = b""
    while True:
        wanted = tail.wanted()
        assert wanted.offset % BLOCK == 0
        piece = tail.take(Got(Found.HERE, "log", data[wanted.offset : wanted.offset + wanted.length]))
        assert piece is not None
        if piece.restarted:
            new = b""
        new += piece.data
        if not piece.more:
            return new


@given(st.lists(st.integers(0, 3 * BLOCK), max_size=12))
def test_growing_pieces_make_the_file(sizes: list[int]) -> None:
    tail, data, seen = Tail(("log",)), b"", b""
    for number, size in enumerate(sizes):
        data += bytes([number]) * size
        seen += read(tail, data)
    assert seen == data


def test_more_than_a_piece_is_read_in_pieces() -> None:
    data = b"abcdefg" * PIECE
    assert read(Tail(("log",)), data) == data


def test_a_shorter_file_is_another_one() -> None:
    tail = Tail(("log",))
    read(tail, b"x" * 50_000)
    assert read(tail, b"new") == b"new"


def test_a_longer_file_with_another_beginning_is_another_one() -> None:
    tail = Tail(("log",))
    read(tail, b"old " * 100)
    assert read(tail, b"new " * 200) == b"new " * 200


def test_a_long_file_replaced_by_a_longer_one_is_another_one() -> None:
    tail = Tail(("log",))
    read(tail, b"old " * 10_000)
    assert read(tail, b"new " * 20_000) == b"new " * 20_000


def test_a_file_that_was_gone_begins_anew() -> None:
    tail = Tail(("a", "log"))
    read(tail, b"one\n")
    assert tail.wanted().paths == ("log",)
    assert tail.take(Got(Found.MISSING)) is None
    assert tail.wanted().paths == ("a", "log")
    piece = tail.take(Got(Found.HERE, "log", b"two\n"))
    assert piece is not None
    assert (piece.data, piece.offset, piece.restarted) == (b"two\n", 0, True)


def test_the_first_piece_is_no_restart() -> None:
    piece = Tail(("log",)).take(Got(Found.HERE, "log", b"one\n"))
    assert piece is not None
    assert not piece.restarted
