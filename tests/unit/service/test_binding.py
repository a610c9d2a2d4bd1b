"""Where a server may listen, and which names it goes by."""

import socket
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import binding
from jobmeter.service.server_settings import ServerSettings
from support import receivers


def settings(**more: object) -> ServerSettings:
    return ServerSettings(home="/nowhere", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "header",
    ["127.0.0.1", "127.0.0.1:8765", "localhost:8765", "LOCALHOST", "[::1]", "[::1]:8765", "127.9.9.9:1"],
)
def test_loopback_goes_by_its_addresses_and_localhost(header: str) -> None:
    assert binding.is_allowed_host(header, settings())


@pytest.mark.parametrize(
    "header",
    [
        "",
        ":8765",
        "attacker.example",
        "127.0.0.1.attacker.example",
        "10.attacker.example",
        "192.168.attacker.example",
        "localhost.attacker.example",
        "localhost.",
        "127.1",
        "0x7f.0.0.1",
        "2130706433",
        "10.0.0.5",
        "0.0.0.0",  # noqa: S104  # a name, nothing is bound
        "169.254.169.254",
        "[::1",
        "[::1]x",
        "[::1]:",
        "[127.0.0.1]",
        "::1",
        "localhost:99999",
        "localhost:8765:1",
        "localhost:-1",
        "user@localhost",
        "localhost/x",
        "localhost ",
        "\u217cocalhost",
    ],
)
def test_any_other_name_is_refused_on_loopback(header: str) -> None:
    found = binding.is_allowed_host(header, settings())
    # an empty port is what RFC 9110 allows, all else is somebody else's name
    assert found is (header == "[::1]:")


def test_a_name_that_was_allowed_is_compared_as_a_whole() -> None:
    asked = settings(allowed_hosts=("meter.lab.example",))
    assert binding.is_allowed_host("Meter.Lab.Example:8765", asked)
    assert not binding.is_allowed_host("x.meter.lab.example", asked)
    assert not binding.is_allowed_host("meter.lab.example.attacker.example", asked)


def test_an_address_that_was_bound_is_a_name_and_others_are_not() -> None:
    asked = settings(host="10.0.0.5")
    assert binding.is_allowed_host("10.0.0.5:8765", asked)
    assert not binding.is_allowed_host("10.0.0.6:8765", asked)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104  # nothing is bound
def test_all_interfaces_go_by_any_address_but_by_no_name(host: str) -> None:
    asked = settings(host=host)
    assert binding.is_allowed_host("192.0.2.7:8765", asked)
    assert not binding.is_allowed_host("192.0.2.attacker.example", asked)


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.5", "::", "node7", "127.0.0.1.example"])  # noqa: S104
def test_another_address_than_loopback_needs_tls_or_a_flag(host: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="plain text"):
        binding.check(settings(host=host))
    binding.check(settings(host=host, allow_plain_http=True))
    pem = receivers.certificate(tmp_path)
    binding.check(settings(host=host, tls_cert=str(pem), tls_key=str(pem)))


def test_what_is_no_certificate_is_refused_before_anything_is_begun(tmp_path: Path) -> None:
    pem = tmp_path / "pem"
    pem.write_text("x")
    with pytest.raises(UsageError, match="are no certificate and its key, or the key has a pass phrase"):
        binding.check(settings(tls_cert=str(pem), tls_key=str(pem)))


def test_without_a_token_only_this_machine_may_connect() -> None:
    binding.check(settings(auth=False))
    binding.check(settings(auth=False, unix_socket="/run/x"))
    with pytest.raises(UsageError, match=r"--no-auth on 0\.0\.0\.0 would let the whole network in"):
        binding.check(settings(auth=False, host="0.0.0.0", allow_plain_http=True))  # noqa: S104


def test_open_metrics_are_for_loopback() -> None:
    with pytest.raises(UsageError, match="--metrics-open is for loopback only"):
        binding.check(settings(metrics_open=True, host="10.0.0.5", allow_plain_http=True))


def test_half_of_tls_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="go together"):
        binding.check(settings(tls_cert=str(tmp_path)))
    with pytest.raises(UsageError, match="cannot read"):
        binding.check(settings(tls_cert=str(tmp_path / "a"), tls_key=str(tmp_path / "b")))


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no port 70000"):
        binding.check(settings(port=70000))


def test_a_port_in_use_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}: address already in use"):
            binding.listen(settings(port=port))


def test_a_host_that_does_not_exist_is_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"cannot find no-such-host\.invalid"):
        binding.listen(settings(host="no-such-host.invalid"))


def test_a_unix_socket_is_private_from_its_first_moment(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with binding.listen(settings(unix_socket=str(path))):
        assert path.stat().st_mode & 0o777 == 0o600


def test_the_socket_of_a_killed_server_is_replaced_and_that_of_a_live_one_is_not(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    binding.listen(settings(unix_socket=path)).close()
    with (
        binding.listen(settings(unix_socket=path)),
        pytest.raises(UsageError, match="another server listens on"),
    ):
        binding.listen(settings(unix_socket=path))


def test_a_file_is_never_replaced_by_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("x")
    with pytest.raises(UsageError, match="is no socket"):
        binding.listen(settings(unix_socket=str(path)))
    assert path.read_text() == "x"


def test_a_socket_where_none_can_be_made_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot listen on .*: no such file or directory"):
        binding.listen(settings(unix_socket=str(tmp_path / "no" / "s")))


def test_who_takes_nothing_of_an_answer_is_hung_up_on_by_the_kernel() -> None:
    with (
        binding.listen(settings(port=0)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 120_000
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
