"""What the unit tests of several layers share."""

import time
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def utc() -> Iterator[None]:
    """Let local time be UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()
