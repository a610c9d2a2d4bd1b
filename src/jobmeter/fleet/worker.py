"""Calls that may block for ever (a dead file server), each in a thread that nobody has to wait for."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from jobmeter.fleet.tail import TargetError

T = TypeVar("T")


class Worker:
    """Does one thing at a time; while a call hangs, further ones are refused at once."""

    def __init__(self) -> None:
        self._busy = False

    async def do(self, call: Callable[[], T]) -> T:
        """Run a call beside the event loop and give its result, or the error it raised."""
        if self._busy:
            raise TargetError("an earlier look still hangs")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._busy = True
        # a daemon: a call that never returns must not keep the interpreter from ending
        thread = threading.Thread(target=self._run, args=(call, loop, answer), daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            self._busy = False
            raise TargetError(f"no thread to look with: {error}") from None
        return await answer

    def _run(
        self, call: Callable[[], T], loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[T]"
    ) -> None:
        result: T | None = None
        error: OSError | TargetError | None = None
        try:
            result = call()
        except (OSError, TargetError) as raised:
            error = raised
        finally:
            self._busy = False
        try:
            loop.call_soon_threadsafe(_settle, answer, result, error)
        except RuntimeError:
            return  # the loop ended while we hung


def _settle(answer: "asyncio.Future[T]", result: T | None, error: Exception | None) -> None:
    if answer.done():
        return  # nobody waits any more
    if error is None:
        answer.set_result(result)  # type: ignore[arg-type]  # without an error there is a result
    else:
        answer.set_exception(error)
