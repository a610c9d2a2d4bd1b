"""Webhooks against real receivers: what is sent, what is refused, what is tried again."""

import hashlib
import hmac
import ipaddress
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.delivery import webhooks
from jobmeter.delivery.webhooks import Outcome, Webhook
from jobmeter.errors import UsageError
from support import receivers

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


@pytest.fixture
def receiver() -> Iterator[receivers.Receiver]:
    with receivers.receiver() as found:
        yield found


def post(url: str, *, timeout: float = 5.0, signed: bool = True) -> Outcome:
    target = Webhook(url=url, secret="key" if signed else None, allowed=LOOPBACK, timeout_seconds=timeout)
    return webhooks.post(target, b'{"id":"m1"}', message_id="m1", now=1_700_000_000.5)


def test_what_is_posted_is_signed(receiver: receivers.Receiver) -> None:
    outcome = post(f"{receiver.url}/hook?team=a")
    assert outcome == Outcome(is_delivered=True, sentence="accepted with 204")
    (posted,) = receiver.posted
    expected = hmac.new(b"key", b'1700000000.{"id":"m1"}', hashlib.sha256).hexdigest()
    assert posted.path == "/hook?team=a"
    assert posted.body == b'{"id":"m1"}'
    assert posted.headers["X-Jobmeter-Timestamp"] == "1700000000"
    assert posted.headers["X-Jobmeter-Signature"] == f"sha256={expected}"
    assert posted.headers["Idempotency-Key"] == "m1"
    assert posted.headers["Content-Type"] == "application/json"
    assert posted.headers["Host"] == receiver.url.removeprefix("http://")


def test_without_a_secret_there_is_no_signature(receiver: receivers.Receiver) -> None:
    assert post(receiver.url, signed=False).is_delivered
    assert "X-Jobmeter-Signature" not in receiver.posted[0].headers


def test_a_server_in_trouble_is_tried_again(receiver: receivers.Receiver) -> None:
    receiver.statuses = [500]
    assert post(receiver.url) == Outcome(is_delivered=False, sentence="answered 500", may_retry=True)


def test_a_server_that_asks_for_time_gets_it(receiver: receivers.Receiver) -> None:
    receiver.statuses, receiver.headers = [429], {"Retry-After": "17"}
    assert post(receiver.url) == Outcome(
        is_delivered=False, sentence="answered 429", may_retry=True, retry_after_seconds=17.0
    )


def test_what_was_refused_is_not_tried_again(receiver: receivers.Receiver) -> None:
    receiver.statuses = [404]
    assert post(receiver.url) == Outcome(is_delivered=False, sentence="answered 404")


def test_a_redirect_is_not_followed(receiver: receivers.Receiver) -> None:
    with receivers.receiver() as elsewhere:
        receiver.statuses, receiver.headers = [307], {"Location": elsewhere.url}
        outcome = post(receiver.url)
        assert elsewhere.posted == []
    assert outcome == Outcome(is_delivered=False, sentence="answered 307: redirects are not followed")
    assert len(receiver.posted) == 1


@pytest.mark.parametrize("behaviour", ["hang", "drip"])
def test_a_receiver_that_never_answers_is_left_at_the_deadline(
    receiver: receivers.Receiver, behaviour: str
) -> None:
    receiver.behaviour = behaviour
    begun = time.monotonic()
    outcome = post(receiver.url, timeout=0.3)
    assert not outcome.is_delivered
    assert outcome.may_retry
    assert time.monotonic() - begun < 15  # a drip of 65,536 bytes would take twenty minutes


def test_proxies_of_the_environment_are_not_used(
    receiver: receivers.Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receivers.receiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert post(receiver.url).is_delivered
        assert proxy.posted == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0", "2130706433"])
def test_a_name_that_leads_to_this_machine_is_refused(receiver: receivers.Receiver, host: str) -> None:
    port = receiver.url.rpartition(":")[2]
    target = Webhook(url=f"http://{host}:{port}/")
    outcome = webhooks.post(target, b"{}", message_id="m1", now=0.0)
    assert not outcome.is_delivered
    assert not outcome.may_retry
    assert outcome.sentence.startswith("the address is not on the open Internet")
    assert receiver.posted == []


def test_a_name_that_answers_differently_the_second_time_gains_nothing(
    receiver: receivers.Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public address when it is checked, loopback when it is connected to: the peer is what counts."""
    port = int(receiver.url.rpartition(":")[2])
    public = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: public)

    def to_loopback(found: object, timeout: float) -> socket.socket:
        opened = socket.socket()
        opened.settimeout(timeout)
        opened.connect(("127.0.0.1", port))
        return opened

    monkeypatch.setattr(webhooks, "_open_first", to_loopback)
    outcome = webhooks.post(Webhook(url="http://rebound.example/"), b"{}", message_id="m1", now=0.0)
    assert outcome.sentence == "the connected peer is not on the open Internet"
    assert receiver.posted == []


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "172.16.3.4", "192.168.1.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.1"),
        *(
            "::1",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "2002:a00:1::",
            "64:ff9b::a00:1",
            "224.0.0.1",
            "::",
        ),
    ],
)
def test_addresses_that_are_not_on_the_open_internet(address: str) -> None:
    assert not webhooks.is_allowed(ipaddress.ip_address(address), ())


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"])
def test_addresses_on_the_open_internet(address: str) -> None:
    assert webhooks.is_allowed(ipaddress.ip_address(address), ())


def test_a_range_that_the_config_names_is_allowed() -> None:
    ranges = (ipaddress.ip_network("10.0.0.0/8"),)
    assert webhooks.is_allowed(ipaddress.ip_address("10.1.2.3"), ranges)
    assert webhooks.is_allowed(ipaddress.ip_address("::ffff:10.1.2.3"), ranges)
    assert not webhooks.is_allowed(ipaddress.ip_address("192.168.1.1"), ranges)


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        outcome = post(f"http://127.0.0.1:{taken.getsockname()[1]}/")
    assert outcome == Outcome(
        is_delivered=False, sentence="cannot connect: connection refused", may_retry=True
    )


def test_a_certificate_that_nobody_knows_is_refused_and_a_known_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receivers.receiver(certificate=receivers.certificate(tmp_path)) as found:
        outcome = post(f"{found.url}/")
        assert (outcome.is_delivered, outcome.sentence) == (False, "TLS failed: CERTIFICATE_VERIFY_FAILED")
        assert found.posted == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "public.pem"))
        assert post(f"{found.url}/").is_delivered
        # the name is checked, not only that somebody signed it
        assert post(found.url.replace("127.0.0.1", "127.0.0.2")).is_delivered is False


def test_a_peer_that_speaks_no_tls() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        thread = threading.Thread(target=_answer_once, args=(listening,))
        thread.start()
        outcome = post(f"https://127.0.0.1:{listening.getsockname()[1]}/")
        thread.join()
    assert outcome.sentence.startswith("TLS failed: ")
    assert outcome.may_retry


def _answer_once(listening: socket.socket) -> None:
    peer, _ = listening.accept()
    peer.recv(100)
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    peer.close()


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://host/", "file:///etc/passwd", "https://", "gopher://127.0.0.1:6379/_x", "http://host:0/"),
        *(
            "http://user:pw@host/",
            "http://host/a b",
            "http://host/\r\nX: y",
            "http://[::1",
            "http://host:99999/",
            "http://a..b/",
            f"http://{'a' * 70}.example/",
        ),
    ],
)
def test_urls_that_are_not_posted_to(url: str) -> None:
    with pytest.raises(UsageError):
        webhooks.check_url(url)
