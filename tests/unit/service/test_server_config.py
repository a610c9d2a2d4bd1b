"""Settings of a server: the command line over the files."""

from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import server_config
from jobmeter.service.server_settings import ServerSettings


def settings(
    tmp_path: Path, text: str, environ: dict[str, str] | None = None, **given: object
) -> ServerSettings:
    system = tmp_path / "system.toml"
    system.write_text(text)
    known = {"XDG_CONFIG_HOME": str(tmp_path / "none"), **(environ or {})}
    return server_config.settings("/home/u/runs", given, known, system=str(system))


def test_without_anything_said_it_listens_on_loopback_and_asks_for_a_token(tmp_path: Path) -> None:
    found = settings(tmp_path, "")
    assert (found.host, found.port, found.auth, found.tls_cert) == ("127.0.0.1", 8765, True, None)
    assert found.limits.body_bytes == 16777216


def test_what_the_file_says_is_taken(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        '[server]\nhost = "10.0.0.5"\nport = 80\nallowed-hosts = ["Meter.Example"]\nmetrics_open = true\n'
        'tls_cert = "c"\ntls_key = "k"\nrequests_per_second = 7\n',
    )
    assert (found.host, found.port, found.allowed_hosts) == ("10.0.0.5", 80, ("meter.example",))
    assert (found.metrics_open, found.tls_cert, found.tls_key) == (True, "c", "k")
    assert found.limits.requests_per_second == 7.0


def test_the_command_line_wins(tmp_path: Path) -> None:
    found = settings(tmp_path, "[server]\nport = 80\n", port=81, host=None, allowed_hosts=["A.example"])
    assert (found.port, found.host, found.allowed_hosts) == (81, "127.0.0.1", ("a.example",))


def test_the_token_comes_from_the_environment_alone(tmp_path: Path) -> None:
    assert settings(tmp_path, "", {"JOBMETER_TOKEN": "x" * 20}).token == "x" * 20
    assert settings(tmp_path, "", {"JOBMETER_TOKEN": ""}).token is None
    with pytest.raises(UsageError, match="unknown setting token"):
        settings(tmp_path, '[server]\ntoken = "abc"\n')


def test_no_file_can_switch_the_token_off(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown setting auth"):
        settings(tmp_path, "[server]\nauth = false\n")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("port = true", "a whole number"),
        ('port = "80"', "a whole number"),
        ("host = 3", "an address"),
        ('host = ""', "an address"),
        ("metrics_open = 1", "true or false"),
        ('allowed_hosts = "a"', "a list of names"),
        ("allowed_hosts = [1]", "a list of names"),
        ("requests_per_second = 0", "a number above 0"),
    ],
)
def test_a_value_of_another_kind_is_refused(tmp_path: Path, line: str, hint: str) -> None:
    with pytest.raises(UsageError, match=r"bad value for .* in \[server\]") as caught:
        settings(tmp_path, f"[server]\n{line}\n")
    assert hint in caught.value.hint
