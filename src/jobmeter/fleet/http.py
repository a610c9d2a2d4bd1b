"""Ranks behind a web server: GET with a range where only the end is new, unchanged files by their ETag.

A server that ignores ranges sends the file from its start; what is known is read past, up to a bound.
"""

import ssl
from collections.abc import Sequence
from http.client import HTTPException, HTTPResponse
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from jobmeter.fleet.endpoint import NoGpusError
from jobmeter.fleet.tail import Found, Got, TargetError, Wanted
from jobmeter.fleet.worker import Worker

_OK, _PARTIAL, _UNCHANGED, _FORBIDDEN, _BEYOND = 200, 206, 304, (401, 403, 407), 416
_MISSING = (404, 410)
_READ_PAST_BYTES = 64 << 20


class HttpEndpoint:
    """One rank's folder on a web server."""

    def __init__(self, address: str, timeout_seconds: float) -> None:
        self._address = address
        self._timeout_seconds = timeout_seconds
        self._worker = Worker()

    @property
    def name(self) -> str:
        """Name the server."""
        return self._address

    async def read(self, wanted: Sequence[Wanted]) -> list[Got]:
        """Get the pieces one after the other."""
        return await self._worker.do(lambda: [self._first(one) for one in wanted])

    async def gpus(self) -> str:
        """A web server has no `nvidia-smi`."""
        raise NoGpusError("GPUs cannot be asked over http")

    async def close(self) -> None:
        """Nothing is held between two looks."""

    def _first(self, wanted: Wanted) -> Got:
        for path in wanted.paths:
            got = self._get(path, wanted)
            if got.found is not Found.MISSING:
                return got
        return Got(Found.MISSING)

    def _get(self, path: str, wanted: Wanted) -> Got:
        headers = {"Accept-Encoding": "identity", "Range": f"bytes={wanted.offset}-{_last(wanted)}"}
        if wanted.validator:
            headers["If-None-Match"] = wanted.validator
        request = Request(self._address + path, headers=headers)  # noqa: S310  # targets are http or https only
        try:
            with urlopen(request, timeout=self._timeout_seconds) as response:  # noqa: S310  # likewise
                return _body(response, path, wanted)
        except HTTPError as error:
            error.close()
            return self._refused(error, path)
        except URLError as error:
            raise TargetError(f"{self._address}: {_why(error)}") from None
        except (HTTPException, TimeoutError, ConnectionError) as error:
            raise TargetError(f"{self._address}: {str(error) or type(error).__name__}") from None

    def _refused(self, error: HTTPError, path: str) -> Got:
        if error.code == _UNCHANGED:
            return Got(Found.UNCHANGED, path)
        if error.code in _MISSING:
            return Got(Found.MISSING)
        if error.code == _BEYOND:
            return Got(Found.HERE, path)
        if error.code in _FORBIDDEN:
            return Got(Found.UNREADABLE, path, reason=f"the server says {error.code} {error.reason}")
        raise TargetError(f"{self._address}: the server says {error.code} {error.reason}")


def _last(wanted: Wanted) -> int:
    return wanted.offset + wanted.length - 1


def _body(response: HTTPResponse, path: str, wanted: Wanted) -> Got:
    validator = response.headers.get("ETag") or ""
    if response.status != _PARTIAL and wanted.offset:
        _read_past(response, wanted.offset)
    return Got(Found.HERE, path, response.read(wanted.length), validator)


def _read_past(response: HTTPResponse, count: int) -> None:
    if count > _READ_PAST_BYTES:
        raise TargetError("the server sends no ranges, and the file is too large to be read whole each time")
    while count > 0 and (part := response.read(min(count, 1 << 16))):
        count -= len(part)


def _why(error: URLError) -> str:
    reason = error.reason
    if isinstance(reason, ssl.SSLError):
        return f"TLS: {reason.reason or reason}"
    if isinstance(reason, OSError):
        return (reason.strerror or str(reason)).lower()
    return str(reason)
