import zlib
from pathlib import Path

import apsw
import pytest

from jobmeter.model.query import Facet, RunQuery
from jobmeter.model.run import Run, Status
from jobmeter.service import filters
from jobmeter.stores import Position, ReadOnlyError, checksums, migrate, sqlite

TABLES = {
    1: ["axis", "chunk", "event", "process", "run", "series", "source", "tail"],
    2: [
        "axis",
        "chunk",
        "event",
        "process",
        "run",
        "series",
        "source",
        "step_block",
        "step_chunk",
        "step_stream",
        "step_tail",
        "tail",
    ],
}
TABLES[3] = TABLES[2]
TABLES[4] = sorted([*TABLES[3], "report"])
TABLES[5] = sorted([*TABLES[4], "listed", "run_tag"])
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


def test_runs_indexed_before_there_were_steps_are_looked_at_once_more(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "index.db"), vfs=checksums.vfs())
    connection.execute((migrate.FOLDER / "0001_init.sql").read_text())
    connection.pragma("user_version", 1)
    brief = b'{"run_id":"r1","job_id":"r1","status":"completed","command":["make"]}'
    detail = zlib.compress(b'{"definitions":[],"context":{}}')
    connection.execute(
        "INSERT INTO run VALUES ('r1', 'r1', 'completed', 5.0, 1, ?, ?, ?)", (b"{}", brief, detail)
    )
    connection.execute("INSERT INTO source VALUES ('r1', 'usage.jsonl', 120, 3)")
    connection.close()
    store = sqlite.open_store(tmp_path / "index.db")
    assert store.run("r1") == Run(run_id="r1", job_id="r1", status=Status.COMPLETED, command=("make",))
    assert store.unfinished() == {"r1": Status.COMPLETED}
    assert store.positions("r1") == {"usage.jsonl": Position(120, 3, "")}
    assert store.steps("r1") == []
    store.close()


def test_runs_of_an_older_index_are_listed_filtered_and_counted_before_they_are_looked_at(
    tmp_path: Path,
) -> None:
    connection = apsw.Connection(str(tmp_path / "index.db"), vfs=checksums.vfs())
    for number, file in migrate.steps():
        if number <= 4:
            connection.execute(file.read_text())
    connection.pragma("user_version", 4)
    fields = b'{"id":"R1","name":"Night","project":"p","wall":2.5,"steps.count":7,"tag.team":"sound","exit_code":3}'
    brief = b'{"run_id":"R1","job_id":"R1","status":"completed","command":["make"],"started_at":5.0}'
    detail = zlib.compress(b'{"definitions":[],"context":{}}')
    connection.execute(
        "INSERT INTO run VALUES ('R1', 'R1', 'completed', 5.0, 1, ?, ?, ?, '')", (fields, brief, detail)
    )
    connection.close()
    store = sqlite.open_store(tmp_path / "index.db")
    where = filters.parse("name~night and wall>2 and tag.team=sound and steps.count=7 and id~r1", now=0.0)
    assert [run.run_id for run in store.page(RunQuery(where=where)).runs] == ["R1"]
    assert store.facets(RunQuery(), ["project", "tag"]) == {
        "project": [Facet("p", 1)],
        "tag": [Facet("team=sound", 1)],
    }
    assert store.unfinished() == {"R1": Status.COMPLETED}
    store.close()


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
    with pytest.raises(ReadOnlyError, match="has schema 7, this jobmeter knows 5"), store.writing(1):
        store.forget("x")
    store.close()


def test_pages_are_checked() -> None:
    assert checksums.vfs() == "cksmvfs"
