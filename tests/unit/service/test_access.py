"""Tokens: made, told once, kept as digests, revoked."""

import os
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import access
from jobmeter.service.access import Scope

NOW = 1794736201.0


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


def test_a_token_is_who_it_was_made_for(home: str) -> None:
    made = access.create(home, "agent-7", frozenset((Scope.INGEST,)), now=NOW)
    with access.open_db(home) as server_db:
        found = access.Access(server_db, "local-token-of-the-home").principal(made.token)
    assert found == access.Principal("agent-7", frozenset((Scope.INGEST,)))


def test_what_is_kept_is_not_enough_to_log_in(home: str) -> None:
    made = access.create(home, "agent", frozenset((Scope.READ,)), now=NOW)
    secret = made.token.split("_", 2)[2].encode()  # which may hold an underscore itself
    kept = b"".join(path.read_bytes() for path in Path(home).iterdir())
    assert made.token.encode() not in kept
    assert secret not in kept


def test_no_part_of_a_token_is_a_token(home: str) -> None:
    made = access.create(home, "agent", frozenset((Scope.READ,)), now=NOW)
    with access.open_db(home) as server_db:
        known = access.Access(server_db, "local-token-of-the-home")
        tries = [
            "",
            "jm_",
            "jm__",
            f"jm_{made.token_id}_",
            made.token[:-1],
            made.token + "x",
            made.token.upper(),
        ]
        tries += [
            f"jm_{'0' * 8}_{made.token[12:]}",
            "local-token-of-the-hom",
            "local-token-of-the-home ",
            "\udcff",
        ]
        assert [known.principal(token) for token in tries] == [None] * len(tries)


def test_a_revoked_token_is_unknown_at_once(home: str) -> None:
    made = access.create(home, "agent", frozenset((Scope.READ,)), now=NOW)
    with access.open_db(home) as server_db:
        known = access.Access(server_db, "local-token-of-the-home")
        assert known.principal(made.token) is not None
        access.revoke(home, "agent", now=NOW + 1)  # by another connection, as another process would
        assert known.principal(made.token) is None


def test_a_token_is_revoked_once_and_its_name_is_free_again(home: str) -> None:
    first = access.create(home, "agent", frozenset((Scope.READ,)), now=NOW)
    with pytest.raises(UsageError, match="there is a token named agent"):
        access.create(home, "agent", frozenset((Scope.READ,)), now=NOW)
    access.revoke(home, first.token_id, now=NOW + 1)
    with pytest.raises(UsageError, match="there is no token agent in use"):
        access.revoke(home, "agent", now=NOW + 2)
    access.create(home, "agent", frozenset((Scope.READ,)), now=NOW + 3)
    assert [(row.name, row.revoked_at) for row in access.tokens(home)] == [
        ("agent", NOW + 1),
        ("agent", None),
    ]


@pytest.mark.parametrize("name", ["", "x" * 201, "two\nlines", "\x1b[31m"])
def test_a_name_that_cannot_be_shown_is_refused(home: str, name: str) -> None:
    with pytest.raises(UsageError, match="a token needs a name"):
        access.create(home, name, frozenset((Scope.READ,)), now=NOW)


def test_a_token_without_a_scope_is_refused(home: str) -> None:
    with pytest.raises(UsageError, match="a token needs a scope"):
        access.create(home, "agent", frozenset(), now=NOW)


def test_admin_includes_the_other_scopes_and_nothing_else_includes_any() -> None:
    def may(scope: Scope) -> list[str]:
        owner = access.Principal("x", frozenset((scope,)))
        return sorted(one.value for one in Scope if owner.may(one))

    assert may(Scope.ADMIN) == ["admin", "ingest", "read"]
    assert may(Scope.READ) == ["read"]
    assert may(Scope.INGEST) == ["ingest"]


def test_when_a_token_was_last_used_is_written_down(home: str) -> None:
    made = access.create(home, "agent", frozenset((Scope.READ,)), now=NOW)
    with access.open_db(home) as server_db:
        known = access.Access(server_db, "local-token-of-the-home")
        known.principal(made.token)
        known.flush()  # within the first minute nothing is written
        assert access.tokens(home)[0].last_used_at is None
        known.flush(now=True)
    assert access.tokens(home)[0].last_used_at is not None


def test_the_local_token_is_made_once_and_is_this_users_alone(home: str) -> None:
    os.makedirs(home)
    before = os.umask(0)
    try:
        token = access.local_token(home, None)
    finally:
        os.umask(before)
    assert len(token) == 43
    assert Path(home, "token").stat().st_mode & 0o777 == 0o600
    assert access.local_token(home, None) == token
    assert os.listdir(home) == ["token"]


def test_two_servers_that_start_together_agree_on_a_token(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    os.makedirs(home)
    real_link = os.link

    def slower(source: str, target: str) -> None:
        monkeypatch.undo()
        access.local_token(home, None)
        real_link(source, target)

    monkeypatch.setattr(os, "link", slower)
    token = access.local_token(home, None)
    assert token == Path(home, "token").read_text().strip()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_token_that_others_can_read_is_refused(home: str, mode: int) -> None:
    os.makedirs(home)
    access.local_token(home, None)
    Path(home, "token").chmod(mode)
    with pytest.raises(UsageError, match="can be read by others"):
        access.local_token(home, None)


def test_a_token_behind_a_link_is_refused(home: str, tmp_path: Path) -> None:
    os.makedirs(home)
    (tmp_path / "other").write_text("a-token-of-somebody-else\n")
    Path(home, "token").symlink_to(tmp_path / "other")
    with pytest.raises(UsageError, match=r"cannot read .*token"):
        access.local_token(home, None)


def test_the_variable_takes_the_place_of_the_file(home: str) -> None:
    os.makedirs(home)
    assert access.local_token(home, "x" * 16) == "x" * 16
    assert os.listdir(home) == []


@pytest.mark.parametrize(
    "given", ["short", "x" * 15, "with space 1234567", "ümlaut-1234567890", "new\nline123456789"]
)
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(home: str, given: str) -> None:
    with pytest.raises(UsageError, match="the token must be at least 16 printable characters"):
        access.local_token(home, given)
