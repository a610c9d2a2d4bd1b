"""What is written down of a command: secrets hidden, a huge one cut with a mark."""

from jobmeter.recording import setup


def test_a_plain_command_is_kept_as_it_is() -> None:
    assert setup.stored_command(["make", "-j4", "", "a b"]) == ["make", "-j4", "", "a b"]


def test_a_secret_is_hidden() -> None:
    stored = setup.stored_command(
        ["curl", "--password", "hunter2hunter2", "-H", "Authorization: Bearer abcdef0123456789"]
    )
    assert stored[:2] == ["curl", "--password"]
    assert "hunter2" not in " ".join(stored)
    assert "abcdef0123456789" not in " ".join(stored)


def test_a_command_of_64_kib_is_kept_whole() -> None:
    words = ["x" * 1024] * 64
    assert setup.stored_command(words) == words


def test_a_longer_one_is_cut_and_says_how_much_is_missing() -> None:
    stored = setup.stored_command(["y" * 1000, "x" * 70_000, "z" * 10, ""])
    assert stored[0] == "y" * 1000
    assert stored[1].startswith("x" * 64536 + "…")
    assert stored[1].endswith(" [5474 characters and 2 arguments more]")
    assert len(stored) == 2


def test_no_command_stays_none() -> None:
    assert setup.stored_command([]) == []
