"""Homes whose indexes lie in one PostgreSQL database."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter import stores
from jobmeter.errors import StoreError, UsageError
from jobmeter.service import database, index
from support import folders, postgres

FIRST, SECOND = "20261115T095001Z-7f3a9c", "20261116T095001Z-aaaaaa"


@pytest.fixture
def url() -> Iterator[str]:
    with postgres.database() as found:
        yield found


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "one", tmp_path / "other"
    folders.write_run(one, run_id=FIRST, seconds=70)
    folders.write_run(other, run_id=SECOND, seconds=70)
    return one, other


def known(opened: index.Index) -> list[str]:
    return [run.run_id for run in opened.ask(lambda store: store.briefs())]


def test_every_home_indexes_its_own_runs_and_shows_all(homes: tuple[Path, Path], url: str) -> None:
    with index.open_own(homes[0], url=url) as one, index.open_own(homes[1], url=url) as other:
        assert one.refresh().indexed == [FIRST]
        assert other.refresh().indexed == [SECOND]
        assert sorted(known(one)) == sorted(known(other)) == [FIRST, SECOND]
        assert one.refresh().forgotten == other.refresh().forgotten == []
        assert one.ask(lambda store: store.statistics(SECOND)) == other.ask(
            lambda store: store.statistics(SECOND)
        )


def test_a_run_that_is_gone_from_its_home_is_forgotten_and_no_other(
    homes: tuple[Path, Path], url: str
) -> None:
    with index.open_own(homes[0], url=url) as one, index.open_own(homes[1], url=url) as other:
        one.refresh()
        other.refresh()
        shutil.rmtree(homes[0] / "runs")
        assert one.refresh().forgotten == [FIRST]
        assert known(one) == known(other) == [SECOND]


def test_a_run_that_is_copied_to_a_second_home_is_indexed_once(homes: tuple[Path, Path], url: str) -> None:
    folders.write_run(homes[1], run_id=FIRST, seconds=70)
    with index.open_own(homes[0], url=url) as one, index.open_own(homes[1], url=url) as other:
        one.refresh()
        before = one.ask(lambda store: store.statistics(FIRST))
        other.refresh()
        assert other.refresh().indexed == []
        assert one.ask(lambda store: store.statistics(FIRST)) == before
        shutil.rmtree(index.folder_of(homes[0], FIRST))
        assert one.refresh().forgotten == [FIRST]
        assert other.refresh().indexed == [FIRST]
        assert other.ask(lambda store: store.statistics(FIRST)) == before


def test_an_index_in_a_database_answers_as_one_in_a_file(
    homes: tuple[Path, Path], url: str, tmp_path: Path
) -> None:
    with index.open_own(homes[0], url=url) as shared, index.open_own(homes[0], path=tmp_path / "i.db") as own:
        shared.refresh()
        own.refresh()
        for question in (
            lambda store: store.run(FIRST),
            lambda store: store.series(FIRST),
            lambda store: store.processes(FIRST),
            lambda store: list(store.fields()),
            lambda store: store.summaries(),
        ):
            assert shared.ask(question) == own.ask(question)


def test_a_database_that_cannot_be_reached_is_an_error(homes: tuple[Path, Path]) -> None:
    with pytest.raises(StoreError, match=r"cannot connect to the database jobs at 127\.0\.0\.1:1"):
        index.open_own(homes[0], url="postgresql://127.0.0.1:1/jobs")


def test_a_home_keeps_its_name_wherever_it_is_moved(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    name = database.origin(home)
    assert name == database.origin(home)
    assert [file.name for file in home.iterdir()] == ["home.id"]
    home.rename(tmp_path / "elsewhere")
    assert database.origin(tmp_path / "elsewhere") == name


def test_a_home_that_is_not_there_is_named_by_its_place(tmp_path: Path) -> None:
    assert database.origin(tmp_path / "none").endswith(f":{tmp_path / 'none'}")


def test_a_package_that_is_missing_is_told_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(stores.ALL, "postgres", "psycopg_is_not_here")
    with pytest.raises(UsageError, match="needs the package psycopg_is_not_here") as caught:
        stores.load("postgres")
    assert caught.value.hint == "pip install 'jobmeter[postgres]'"
