"""The settings of what a server sends by itself."""

import threading
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from jobmeter.errors import StoreError, UsageError
from jobmeter.service import outlets
from jobmeter.stores import Store


def nothing() -> AbstractContextManager[Store]:
    raise AssertionError("nothing is read before the server starts")


def made(tmp_path: Path, settings: str) -> outlets.Outlets:
    config = tmp_path / "jobmeter" / "config.toml"
    config.parent.mkdir()
    config.write_text(settings)
    return outlets.Outlets(str(tmp_path / "home"), nothing, {"XDG_CONFIG_HOME": str(tmp_path)})


def test_a_server_without_settings_sends_nothing(tmp_path: Path) -> None:
    assert made(tmp_path, "").counts() == []


def test_a_whole_table_is_taken(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    found = made(
        tmp_path,
        f"""[remote_write]
        url = "https://prometheus.example/api/v1/write"
        username = "ann"
        password_file = "{tmp_path}/secret"
        headers = {{ "X-Scope-OrgID" = "team" }}
        labels = {{ cluster = "blue" }}
        interval = "30s"
        max-age = "2h"
        """,
    )
    assert [name for name, _ in found.counts()] == ["remote_write"]
    found.stop()


def test_a_server_may_send_to_both(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        """[remote_write]
        url = "http://prometheus.example/api/v1/write"
        [otlp]
        url = "http://collector.example:4318"
        attributes = { "deployment.environment" = "blue" }
        spans = false
        """,
    )
    assert [name for name, _ in found.counts()] == ["otlp", "remote_write"]
    found.stop()


def test_a_truth_is_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"bad value for spans in \[otlp\]"):
        made(tmp_path, '[otlp]\nurl = "http://x/"\nspans = "no"\n')


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("", "bad value for url in [remote_write]"),
        ('url = "ftp://x"', "bad value for url in [remote_write]"),
        ('url = "http://x/"\nspeed = 3', "unknown setting speed in [remote_write]"),
        ('url = "http://x/"\ninterval = "soon"', "bad value for interval in [remote_write]"),
        ('url = "http://x/"\nusername = 7', "bad value for username in [remote_write]"),
        ('url = "http://x/"\nlabels = { a = 1 }', "bad value for labels in [remote_write]"),
        ('url = "http://x/"\nbearer_token_file = "/nowhere/token"', "cannot read /nowhere/token"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path: Path, settings: str, told: str) -> None:
    settings = settings or "username = 'ann'"
    with pytest.raises(UsageError) as refused:
        made(tmp_path, f"[remote_write]\n{settings}\n")
    assert str(refused.value).startswith(told)


def test_what_keeps_an_outlet_from_working_is_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    asked = threading.Semaphore(0)

    def broken() -> AbstractContextManager[Store]:
        asked.release()
        raise StoreError("the index cannot be read")

    config = tmp_path / "jobmeter" / "config.toml"
    config.parent.mkdir()
    config.write_text('[remote_write]\nurl = "http://x/"\ninterval = "10ms"\n')
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    found = outlets.Outlets(str(tmp_path / "home"), broken, environ, warn=told.append)
    found.start()
    for _ in range(5):
        assert asked.acquire(timeout=10)
    found.stop()
    assert told == ["remote_write: the index cannot be read"]
