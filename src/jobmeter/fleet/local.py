"""Ranks of this host: their files are read in a thread, because a dead file server blocks for ever."""

import asyncio
import os
from collections.abc import Sequence

from jobmeter.errors import reason_of
from jobmeter.fleet import commands
from jobmeter.fleet.endpoint import GPU_COMMAND, NoGpusError
from jobmeter.fleet.tail import Found, Got, Wanted
from jobmeter.fleet.worker import Worker


class LocalEndpoint:
    """One folder here."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._worker = Worker()

    @property
    def name(self) -> str:
        """Name the folder."""
        return self._name

    async def read(self, wanted: Sequence[Wanted]) -> list[Got]:
        """Read the pieces one after the other."""
        return await self._worker.do(lambda: [_read(one) for one in wanted])

    async def gpus(self) -> str:
        """Ask this host's `nvidia-smi`."""
        try:
            process = await asyncio.create_subprocess_exec(
                *GPU_COMMAND, stdin=asyncio.subprocess.DEVNULL, stdout=-1, stderr=-1
            )
        except (FileNotFoundError, PermissionError):
            raise NoGpusError("no nvidia-smi here") from None
        return await commands.gpu_answer(process)

    async def close(self) -> None:
        """Nothing is held between two looks."""


def _read(wanted: Wanted) -> Got:
    for path in wanted.paths:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return Got(Found.UNREADABLE, path, reason=reason_of(error))
        try:
            return Got(Found.HERE, path, _pread(fd, wanted.length, wanted.offset))
        except OSError as error:
            return Got(Found.UNREADABLE, path, reason=reason_of(error))
        finally:
            os.close(fd)
    return Got(Found.MISSING)


def _pread(fd: int, length: int, offset: int) -> bytes:
    parts: list[bytes] = []
    while length > 0:
        part = os.pread(fd, length, offset)
        if not part:
            break
        parts.append(part)
        length -= len(part)
        offset += len(part)
    return b"".join(parts)
