"""No secret leaves with a job's output, and no line changes its length."""

import os
import random

import pytest

from jobmeter.delivery.redacting import LONGEST_LINE_BYTES, Redactor

KEY = b"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx\nq83vEjRWeJA=\n-----END RSA PRIVATE KEY-----\nafter\n"


def whole(data: bytes) -> bytes:
    taken, sent = Redactor().take(data, closed=True)
    assert taken == len(data)
    return sent


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        (b"step 3 loss 0.5\n", b"step 3 loss 0.5\n"),
        (b"password=hunter2secret\n", b"password=[redacted]   \n"),
        (b"password=abc\n", b"password=*  \n"),
        (b"password=abc and password=xy\r\n", b"password=* and password=*   \r\n"),
        (
            b"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENG next\n",
            b"AWS_SECRET_ACCESS_KEY=[redacted] next          \n",
        ),
        (
            b"caf\xc3\xa9 \xff\xfe password=abcdefghijkl \xe2\x82\xac\n",
            b"caf\xc3\xa9 \xff\xfe password=[redacted] \xe2\x82\xac  \n",
        ),
    ],
)
def test_a_secret_is_hidden_and_the_line_stays_as_long(line: bytes, sent: bytes) -> None:
    assert whole(line) == sent
    assert len(sent) == len(line)


def test_a_private_key_is_hidden_from_its_first_line_to_its_last() -> None:
    sent = whole(KEY)
    assert len(sent) == len(KEY)
    assert b"MIIE" not in sent
    assert b"q83v" not in sent
    assert sent.startswith(b"-----BEGIN RSA PRIVATE KEY-----")
    assert sent.endswith(b"\nafter\n")


def test_where_the_pieces_are_cut_makes_no_difference() -> None:
    chance = random.Random(7)
    words = [
        b"loss 0.5\n",
        b"token=abcdefghijklmnop1234\n",
        b"50%|###   |\r",
        b"\r\n",
        KEY,
        b"x" * 700 + b"\n",
    ]
    data = b"".join(chance.choice(words) for _ in range(300))
    together = whole(data)
    key_lines, at, pieces = 0, 0, []
    while at < len(data):
        redactor = Redactor(key_lines)
        chunk = data[at : at + chance.randrange(900, 4000)]
        taken, sent = redactor.take(chunk, closed=at + len(chunk) == len(data))
        key_lines, at = redactor.key_lines, at + taken
        pieces.append(sent)
    assert b"".join(pieces) == together


def test_half_a_line_waits_for_the_rest_of_it() -> None:
    assert Redactor().take(b"one\npassword=hun", closed=False) == (4, b"one\n")


def test_a_line_without_an_end_is_cut_at_a_blank() -> None:
    line = b"word " * 30_000
    taken, sent = Redactor().take(line, closed=False)
    assert taken == len(sent) == 2 * (LONGEST_LINE_BYTES // 5 * 5)


def test_any_bytes_keep_their_length() -> None:
    for _ in range(50):
        data = os.urandom(3000)
        assert len(whole(data)) == 3000
