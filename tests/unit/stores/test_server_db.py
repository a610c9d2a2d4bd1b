"""The file that only servers write: private, never rebuilt, copied before it changes."""

import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from jobmeter.errors import StoreError
from jobmeter.stores import server_db
from jobmeter.stores.server_db import ServerDb, TokenRow


def row(token_id: str) -> TokenRow:
    return TokenRow(token_id=token_id, name="agent", digest=b"d", scopes=("ingest", "read"), created_at=1.5)


ROW = row("0a1b2c3d")


def test_what_was_put_in_comes_out_after_it_was_closed(tmp_path: Path) -> None:
    with ServerDb.open(tmp_path) as opened:
        assert opened.add_token(ROW)
        opened.put("silence", "b", b"{}")
        opened.put("silence", "a", b"[1]")
        opened.put("view", "a", b"[2]")
        opened.put("silence", "b", b"[3]")
    with ServerDb.open(tmp_path) as opened:
        assert opened.tokens() == [ROW]
        assert opened.token("0a1b2c3d") == ROW
        assert opened.token("nobody") is None
        assert opened.documents("silence") == {"a": b"[1]", "b": b"[3]"}
        assert opened.document("view", "a") == b"[2]"
        assert opened.document("view", "b") is None
        assert [opened.drop("silence", "a"), opened.drop("silence", "a")] == [True, False]


def test_a_name_in_use_is_not_taken_twice(tmp_path: Path) -> None:
    with ServerDb.open(tmp_path) as opened:
        assert opened.add_token(ROW)
        assert not opened.add_token(row("ffffffff"))


def test_the_file_and_its_journals_are_this_users_alone(tmp_path: Path) -> None:
    with ServerDb.open(tmp_path) as opened:
        opened.add_token(ROW)
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"server.db": 0o600, "server.db-shm": 0o600, "server.db-wal": 0o600}


def test_on_a_network_there_is_no_log_beside_it(tmp_path: Path) -> None:
    with ServerDb.open(tmp_path, journal="delete") as opened:
        opened.add_token(ROW)
        assert [path.name for path in tmp_path.iterdir()] == ["server.db"]


def test_two_processes_see_each_others_rows_at_once(tmp_path: Path) -> None:
    with ServerDb.open(tmp_path) as one, ServerDb.open(tmp_path) as other:
        one.add_token(ROW)
        other.revoke_token(ROW.token_id, 9.0)
        found = one.token(ROW.token_id)
    assert found is not None
    assert found.revoked_at == 9.0


def test_threads_may_share_it(tmp_path: Path) -> None:
    with ServerDb.open(tmp_path) as opened:

        def work(number: int) -> None:
            for turn in range(50):
                opened.put("kind", f"{number}-{turn}", b"{}")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(opened.documents("kind")) == 200


def test_a_copy_is_kept_before_the_schema_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ServerDb.open(tmp_path) as opened:
        opened.add_token(ROW)
    schema = tmp_path / "schema"
    schema.mkdir()
    for path in server_db.SCHEMA.glob("*.sql"):
        (schema / path.name).write_text(path.read_text())
    (schema / "9999_more.sql").write_text("ALTER TABLE token ADD COLUMN note TEXT;")
    monkeypatch.setattr(server_db, "SCHEMA", schema)
    with ServerDb.open(tmp_path) as opened:
        assert opened.tokens() == [ROW]
    (copy,) = tmp_path.glob("server.db.bak-*")
    assert copy.stat().st_mode & 0o777 == 0o600
    rows = apsw.Connection(str(copy)).execute("SELECT token_id FROM token").fetchall()
    assert rows == [("0a1b2c3d",)]


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    ServerDb.open(tmp_path).close()
    connection = apsw.Connection(str(tmp_path / "server.db"))
    connection.pragma("user_version", 9999)
    connection.close()
    with pytest.raises(StoreError, match="written by a newer jobmeter"):
        ServerDb.open(tmp_path)


def test_a_file_that_is_no_database_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "server.db").write_bytes(b"precious" * 1000)
    with pytest.raises(StoreError, match=r"cannot use .*server\.db"):
        ServerDb.open(tmp_path)
    assert (tmp_path / "server.db").read_bytes() == b"precious" * 1000


def test_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "server.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="cannot use"):
        ServerDb.open(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_token_is_looked_up_while_another_thread_waits_to_write(tmp_path: Path) -> None:
    with ServerDb.open(tmp_path) as opened, closing(apsw.Connection(str(tmp_path / server_db.FILE))) as other:
        opened.add_token(ROW)
        other.execute("BEGIN IMMEDIATE")
        writer = threading.Thread(target=opened.put, args=("view", "a", b"{}"))
        writer.start()
        while not opened._lock.locked():  # it has begun to wait
            writer.join(0.01)
        assert opened.token(ROW.token_id) == ROW
        assert writer.is_alive()
        other.execute("ROLLBACK")
        writer.join()
        assert opened.document("view", "a") == b"{}"
