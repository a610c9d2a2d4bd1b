"""What leaves through a channel: real messages to a real receiver, by webhook, by Apprise and by mail."""

import io
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from ipaddress import ip_network

import pytest

from jobmeter.delivery import channels, notify
from jobmeter.delivery.channels import Channel
from jobmeter.delivery.courier import Courier
from jobmeter.delivery.webhooks import Webhook
from jobmeter.errors import UsageError
from jobmeter.model.alert import Notice, Turn
from jobmeter.model.report import Severity
from support import receivers

# Apprise imports a module that a later Python drops
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

NOTICE = Notice(
    id="n1",
    turn=Turn.FIRED,
    rule="memory-high",
    run_id="20261115T095001Z-7f3a9c",
    instance="",
    severity=Severity.CRITICAL,
    sentence="memory is 9.5 GiB, the threshold is above 9 GiB",
    at=1_700_000_000.0,
    job="train",
    project="llm",
)
SOLVED = replace(NOTICE, id="n2", turn=Turn.RESOLVED)


@pytest.fixture
def receiver() -> Iterator[receivers.Receiver]:
    with receivers.receiver() as found:
        yield found


def hook(receiver: receivers.Receiver) -> Channel:
    target = Webhook(url=f"{receiver.url}/T0/secret-path", secret="key", allowed=(ip_network("127.0.0.0/8"),))  # noqa: S106  # of a test
    return Channel(name="team", webhook=target, group_seconds=0.0)


def test_a_webhook_receives_all_changes_in_one_document(receiver: receivers.Receiver) -> None:
    outcome = channels.deliver(hook(receiver), (NOTICE, SOLVED), message_id="m1", now=1_700_000_001.0)
    assert outcome.is_delivered
    body = json.loads(receiver.posted[0].body)
    assert {key: body[key] for key in ("version", "id", "channel", "sent_at", "title", "more")} == {
        "version": 1,
        "id": "m1",
        "channel": "team",
        "sent_at": "2023-11-14T22:13:21.000Z",
        "title": "jobmeter: 1 firing, 1 resolved",
        "more": 0,
    }
    assert [one["state"] for one in body["alerts"]] == ["firing", "resolved"]
    assert body["alerts"][0]["sentence"] == "memory is 9.5 GiB, the threshold is above 9 GiB"


def test_a_storm_of_alerts_is_counted_beyond_a_hundred() -> None:
    body = json.loads(channels.payload((NOTICE,) * 130, message_id="m", channel="team", now=0.0))
    assert len(body["alerts"]) == 100
    assert body["more"] == 30
    assert channels.text_of((NOTICE,) * 25).splitlines()[-1] == "and 5 more"


def test_apprise_reaches_a_real_receiver(receiver: receivers.Receiver) -> None:
    url = receiver.url.replace("http://", "json://")
    outcome = channels.deliver(
        Channel(name="chat", apprise_url=f"{url}/x"), (NOTICE,), message_id="m1", now=0.0
    )
    assert (outcome.is_delivered, outcome.sentence) == (True, "accepted by json://")
    body = json.loads(receiver.posted[0].body)
    assert body["title"] == "jobmeter: firing: memory-high (train)"
    assert body["type"] == "failure"
    assert body["message"] == (
        "[critical] firing: memory-high (train): memory is 9.5 GiB, the threshold is above 9 GiB"
        " (20261115T095001Z-7f3a9c, llm)"
    )


def test_apprise_tells_that_all_is_well_again(receiver: receivers.Receiver) -> None:
    url = receiver.url.replace("http://", "json://")
    assert channels.deliver(
        Channel(name="chat", apprise_url=url), (SOLVED,), message_id="m1", now=0.0
    ).is_delivered
    assert json.loads(receiver.posted[0].body)["type"] == "success"


def test_apprise_follows_no_redirect(receiver: receivers.Receiver) -> None:
    with receivers.receiver() as elsewhere:
        receiver.statuses, receiver.headers = [307], {"Location": elsewhere.url}
        outcome = notify.send(receiver.url.replace("http://", "json://"), "t", "b", Severity.INFO)
        assert elsewhere.posted == []
    assert not outcome.is_delivered


def test_a_failure_of_apprise_says_why_and_nothing_secret(
    receiver: receivers.Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.statuses = [500]
    secret = "xoxb-1234567890"  # noqa: S105  # of a test
    url = f"{receiver.url.replace('http://', 'json://')}/{secret}"
    outcome = notify.send(url, "t", "b", Severity.WARNING)
    assert not outcome.is_delivered
    assert outcome.may_retry
    assert outcome.sentence
    assert secret not in outcome.sentence
    assert secret not in caplog.text


def test_a_reason_is_told_without_what_stands_in_the_url() -> None:
    said = io.StringIO("Failed to send to hooks.example.org/T0/B0/abcdef, token abcdef, error=404.\n")
    told = notify._reason(said, "json://hooks.example.org/T0/B0/abcdef?x=secretword")
    assert told == "Failed to send to [redacted][redacted], token [redacted], error=404."


def test_a_url_that_apprise_does_not_know_is_refused_without_showing_it() -> None:
    with pytest.raises(UsageError) as refused:
        notify.check_url("nosuchservice://token-abcdef/")
    assert "abcdef" not in f"{refused.value} {refused.value.hint}"


def test_a_channel_shows_nothing_secret(receiver: receivers.Receiver) -> None:
    shown = json.dumps(hook(receiver).as_record())
    assert "secret-path" not in shown
    assert '"key"' not in shown
    chat = Channel(name="chat", apprise_url="slack://T0/B0/abcdef")
    assert chat.as_record()["target"] == "slack://"


def test_a_scheme_that_is_none_is_not_shown() -> None:
    assert notify.scheme("token abcdef") == "an unknown scheme"


class _Mail(socketserver.StreamRequestHandler):
    """As much of SMTP as a message needs."""

    def handle(self) -> None:
        server = self.server
        assert isinstance(server, _MailServer)
        self.wfile.write(b"220 here\r\n")
        body: list[bytes] | None = None
        for line in self.rfile:
            if body is not None:
                if line == b".\r\n":
                    server.mails.append(b"".join(body))
                    body = None
                    self.wfile.write(b"250 kept\r\n")
                else:
                    body.append(line)
            elif line.upper().startswith(b"DATA"):
                body = []
                self.wfile.write(b"354 go on\r\n")
            elif line.upper().startswith(b"QUIT"):
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                self.wfile.write(b"250 fine\r\n")


class _MailServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Mail)
        self.mails: list[bytes] = []


@contextmanager
def mail_server() -> Iterator[_MailServer]:
    with _MailServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_mail_reaches_a_real_mail_server() -> None:
    with mail_server() as server:
        port = server.server_address[1]
        url = f"mailto://127.0.0.1:{port}/?from=jobmeter@example.org&to=ann@example.org&mode=insecure"
        outcome = channels.deliver(Channel(name="mail", apprise_url=url), (NOTICE,), message_id="m", now=0.0)
    assert outcome.is_delivered, outcome.sentence
    (mail,) = server.mails
    assert b"memory-high" in mail


def test_a_courier_sends_what_it_is_given_and_remembers_the_rest(receiver: receivers.Receiver) -> None:
    receiver.statuses = [500]
    now = [1000.0]
    kept: list[int] = []
    courier = Courier(
        {"team": hook(receiver)},
        None,
        keep=lambda: kept.append(len(courier.kept().messages)),
        clock=lambda: now[0],
    )
    courier.add([(NOTICE, ["team"])])
    assert courier.turn() == 1
    assert not courier.is_empty()
    now[0] += 10.0
    assert courier.turn() == 1
    assert courier.is_empty()
    assert kept == [1, 1, 1, 0]
    keys = [posted.headers["Idempotency-Key"] for posted in receiver.posted]
    assert len(keys) == 2
    assert keys[0] == keys[1]


def test_a_courier_works_in_a_thread_of_its_own(receiver: receivers.Receiver) -> None:
    courier = Courier({"team": hook(receiver)}, None, keep=lambda: None)
    courier.start()
    courier.add([(NOTICE, ["team"])])
    courier.hasten()
    receiver.wait_for(1)
    courier.stop()
    assert courier.is_empty()


def test_a_receiver_that_hangs_holds_up_its_own_channel_alone(receiver: receivers.Receiver) -> None:
    with receivers.receiver() as stuck:
        stuck.behaviour = "hang"
        courier = Courier(
            {"stuck": replace(hook(stuck), name="stuck"), "team": hook(receiver)}, None, keep=lambda: None
        )
        courier.start()
        courier.add([(NOTICE, ["stuck", "team"])])
        stuck.wait_for(1)
        receiver.wait_for(1)
        courier.add([(SOLVED, ["stuck", "team"])])
        receiver.wait_for(2)
        assert len(stuck.posted) == 1
        stuck.released.set()
        courier.stop(seconds=20)


def test_a_channel_that_was_taken_out_of_the_config_delivers_nothing(receiver: receivers.Receiver) -> None:
    now = [0.0]
    courier = Courier({"team": hook(receiver)}, None, keep=lambda: None, clock=lambda: now[0])
    courier.add([(NOTICE, ["team"])])
    courier.use({})
    now[0] = 100.0
    courier.turn()
    (message,) = courier.kept().messages
    assert message.error == "the config has no channel of this name any more"
    assert receiver.posted == []


def test_what_waits_when_the_courier_gives_up_is_dead(receiver: receivers.Receiver) -> None:
    courier = Courier({"team": hook(receiver)}, None, keep=lambda: None)
    courier.add([(NOTICE, ["team"])])
    courier.give_up("over")
    assert courier.is_empty()
    assert courier.kept().messages[0].error == "over"
