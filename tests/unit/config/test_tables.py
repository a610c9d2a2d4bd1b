"""Tables of the settings files: only the system's and the user's count."""

from pathlib import Path

import pytest

from jobmeter.config import tables
from jobmeter.errors import UsageError


@pytest.fixture
def user(tmp_path: Path) -> Path:
    path = tmp_path / "config" / "jobmeter" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def read(tmp_path: Path) -> dict[str, object]:
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    return tables.read("server", environ, str(tmp_path / "system.toml"))


def test_without_files_a_table_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path) == {}


def test_the_user_replaces_what_the_system_says_key_by_key(tmp_path: Path, user: Path) -> None:
    (tmp_path / "system.toml").write_text('[server]\nport = 1\nhost = "a"\n')
    user.write_text('capture = "all"\n[server]\nport = 2\n')
    assert read(tmp_path) == {"port": 2, "host": "a"}


def test_the_file_of_a_project_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".jobmeter").mkdir()
    (tmp_path / ".jobmeter" / "config.toml").write_text('[server]\nhost = "0.0.0.0"\n')
    monkeypatch.chdir(tmp_path)
    assert read(tmp_path) == {}


def test_what_is_no_table_is_refused(tmp_path: Path, user: Path) -> None:
    user.write_text("server = 3\n")
    with pytest.raises(UsageError, match=r"server in .* is no table"):
        read(tmp_path)


def test_what_is_no_toml_is_refused(tmp_path: Path, user: Path) -> None:
    user.write_text("[server\n")
    with pytest.raises(UsageError, match="is not valid TOML"):
        read(tmp_path)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path, user: Path) -> None:
    user.mkdir()
    with pytest.raises(UsageError, match=r"cannot read .*: is a directory"):
        read(tmp_path)
