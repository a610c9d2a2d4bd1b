"""The moving part of `jobmeter top`: what cannot be read is said, and looking goes on."""

import asyncio
from collections.abc import Mapping
from typing import TypeVar

from jobmeter.cli import top_app
from jobmeter.cli.render import sparks

Document = TypeVar("Document")


class Unreadable:
    """A home on a disk that fails."""

    place = "/home/u/.jobmeter"

    def __init__(self) -> None:
        self.looks = 0

    def get(self, path: str, query: Mapping[str, str | int], shape: type[Document]) -> Document:
        """Fail as the system does."""
        del query, shape  # it does not come to them
        self.looks += 1
        raise OSError(5, "Input/output error", path)


def test_a_disk_that_fails_is_told_and_looked_at_again() -> None:
    source = Unreadable()
    app = top_app.Top(source, 0.05, ramp=sparks.BLOCKS)

    async def watch() -> None:
        async with app.run_test() as pilot:
            while source.looks < 3:
                await pilot.pause(0.01)

    asyncio.run(asyncio.wait_for(watch(), 60))
    assert app.problem == "/home/u/.jobmeter cannot be read: input/output error"
