"""Log bytes on a terminal: colours and line ends stay, everything that acts is escaped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.cli.render.logtext import TerminalText


def shown(*blocks: bytes, colour: bool = True) -> str:
    safe = TerminalText(colour=colour)
    return "".join([*(safe.feed(block) for block in blocks), safe.finish()])


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        (b"plain\tand\n", "plain\tand\n"),
        (b"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n\x1b[0m"),
        (b"dos\r\n", "dos\n"),
        (b"pty\r\r\n", "pty\n"),
        (b" 1%\r 2%\r", " 1%\n 2%\n"),
        (b"\x1b[2J\x1b[1;1Hgone", "\\x1b[2J\\x1b[1;1Hgone"),
        (b"\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        (b"\x9b31m \xc2\x9b31m", "\\x9b31m \\x9b31m"),
        (b"bell\x07 back\x08 nul\x00", "bell\\x07 back\\x08 nul\\x00"),
        (b"\xff\xfe", "\\xff\\xfe"),
        ("日本語\n".encode(), "日本語\n"),
        (b"end\x1b", "end\\x1b"),
        (b"end\x1b[31", "end\\x1b[31"),
    ],
)
def test_only_harmless_controls_are_kept(raw: bytes, safe: str) -> None:
    assert shown(raw) == safe


def test_colours_go_where_they_are_not_wanted() -> None:
    assert shown(b"\x1b[1;38:5:9mred\x1b[0m", colour=False) == "red"


@given(
    st.lists(
        st.sampled_from([b"a", b"\x1b", b"[", b"3", b"1", b"m", b"\r", b"\n", b"\xe6", b"\x97", b"\xa5"]),
        max_size=12,
    ),
    st.data(),
)
def test_where_blocks_are_cut_changes_nothing(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cut = data.draw(st.integers(min_value=0, max_value=len(whole)))
    assert shown(whole[:cut], whole[cut:]) == shown(whole)


@given(st.binary(max_size=200))
def test_no_bytes_bring_a_control_to_the_terminal(raw: bytes) -> None:
    text = shown(raw, colour=False)
    assert all(letter.isprintable() or letter in "\n\t" for letter in text)
