from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import database

URL = "postgresql://ann@db.example/jobs"


def settings(folder: Path, text: str) -> str:
    file = folder / "jobmeter" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return str(file)


def test_without_settings_there_is_no_database(tmp_path: Path) -> None:
    assert database.chosen({"XDG_CONFIG_HOME": str(tmp_path)}, system=str(tmp_path / "none")) is None


def test_the_variable_comes_before_the_users_file_and_that_before_the_systems(tmp_path: Path) -> None:
    system = settings(tmp_path / "etc", 'database = "postgresql://system/x"')
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "user")}
    assert database.chosen(environ, system=system) == "postgresql://system/x"
    settings(tmp_path / "user", 'database = "postgresql://user/x"\nname = "y"')
    assert database.chosen(environ, system=system) == "postgresql://user/x"
    assert database.chosen({**environ, "JOBMETER_DATABASE": URL}, system=system) == URL
    assert database.chosen({**environ, "JOBMETER_DATABASE": ""}, system=system) is None


def test_a_settings_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    settings(tmp_path, "database = ")
    with pytest.raises(UsageError, match=r"config\.toml is not valid TOML"):
        database.chosen({"XDG_CONFIG_HOME": str(tmp_path)})


def test_the_scheme_of_a_url_chooses_the_store() -> None:
    assert database.back_end(URL) == "postgres"
    assert database.back_end("postgres://x/y") == "postgres"
    with pytest.raises(UsageError, match="unknown kind of database: mysql"):
        database.back_end("mysql://x/y")


def test_a_password_is_never_shown() -> None:
    assert database.shown("postgresql://ann:secret@db:5432/jobs?password=more") == "postgresql://db:5432/jobs"


@pytest.mark.parametrize("url", ["postgresql://ann:secret@db/x", "postgresql://ann@db/x?password=secret"])
def test_a_password_on_the_command_line_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match="everybody on this machine can read the password") as caught:
        database.from_argument(url)
    assert "secret" not in f"{caught.value} {caught.value.hint}"
    assert database.from_argument(URL) == URL
