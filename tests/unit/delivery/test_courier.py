"""The courier: carries on whatever happens to what it remembers."""

import ipaddress
import json
from collections.abc import Iterator

import pytest

from jobmeter.delivery.channels import Channel
from jobmeter.delivery.courier import Courier
from jobmeter.delivery.webhooks import Webhook
from jobmeter.errors import StoreError
from jobmeter.model.alert import Notice, Turn
from jobmeter.model.report import Severity
from support import receivers
from support.recorder import wait_for


@pytest.fixture
def receiver() -> Iterator[receivers.Receiver]:
    with receivers.receiver() as found:
        yield found


def notice(name: str) -> Notice:
    return Notice(
        id=name,
        turn=Turn.FIRED,
        rule="high",
        run_id="one",
        instance="",
        severity=Severity.WARNING,
        sentence="memory is high",
        at=1.0,
        job="train",
    )


def test_what_cannot_be_stored_is_told_all_the_same_and_so_is_what_comes_later(
    receiver: receivers.Receiver,
) -> None:
    asked: list[int] = []

    def keep() -> None:
        asked.append(len(asked))
        raise StoreError("the disk is full")

    hook = Webhook(url=receiver.url, allowed=(ipaddress.ip_network("127.0.0.0/8"),))
    channel = Channel(name="hook", webhook=hook, group_seconds=0.0)
    courier = Courier({"hook": channel}, None, keep=keep)
    courier.start()
    for name in ("first", "second"):
        courier.add([(notice(name), ["hook"])])
        courier.hasten()
        wait_for(courier.is_empty)
    courier.stop()
    assert [json.loads(one.body)["alerts"][0]["id"] for one in receiver.posted] == ["first", "second"]
    assert len(asked) == 4
