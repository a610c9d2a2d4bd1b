from pathlib import Path

import apsw
import pytest

from jobmeter.stores import ReadOnlyError, checksums, migrate, sqlite

TABLES = {
    1: ["axis", "chunk", "event", "process", "run", "series", "source", "tail"],
}
"""By version: the tables an index of that version has; every version stays here."""


def tables(connection: apsw.Connection) -> list[str]:
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
    return [str(name) for (name,) in rows]


@pytest.mark.parametrize("version", TABLES)
def test_an_index_of_every_version_is_brought_up_to_date(tmp_path: Path, version: int) -> None:
    path = tmp_path / "index.db"
    connection = apsw.Connection(str(path), vfs=checksums.vfs())
    for number, file in migrate.steps():
        if number <= version:
            connection.execute(file.read_text())
            connection.pragma("user_version", number)
    assert tables(connection) == TABLES[version]
    connection.close()
    store = sqlite.open_store(path)
    assert store.run_ids() == set()
    store.close()
    connection = apsw.Connection(str(path))
    assert migrate.version(connection) == max(TABLES)
    assert tables(connection) == TABLES[max(TABLES)]


def test_numbers_of_schema_changes_have_no_gap() -> None:
    assert [number for number, _ in migrate.steps()] == list(range(1, max(TABLES) + 1))


def test_bringing_up_to_date_twice_changes_nothing(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "x.db"))
    migrate.upgrade(connection)
    before = connection.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
    migrate.upgrade(connection)
    assert connection.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall() == before


def test_a_change_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "0001_init.sql").write_text("CREATE TABLE one (a INTEGER); CREATE TABLE one (a INTEGER);")
    connection = apsw.Connection(str(tmp_path / "x.db"))
    with pytest.raises(apsw.SQLError):
        migrate.upgrade(connection, tmp_path)
    assert (tables(connection), migrate.version(connection)) == ([], 0)


def test_a_newer_index_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    store = sqlite.open_store(path)
    store.close()
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 7)
    connection.close()
    store = sqlite.open_store(path)
    with pytest.raises(ReadOnlyError, match="has schema 7, this jobmeter knows 1"), store.writing(1):
        store.forget("x")
    store.close()


def test_pages_are_checked() -> None:
    assert checksums.vfs() == "cksmvfs"
