"""The page: a shell that is the same at every address of it, and its files as the build left them.

None of it holds data, so nobody is asked for a token before the page can ask for one. A checkout in which the page was
not built says how to build it; everything else works without.
"""

import gzip
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.datastructures import State
from litestar.exceptions import NotFoundException

_DIST = Path(__file__).with_name("dist")
_SHELL = "index.html"
_ADDRESSES = ("/", "/campaigns", "/compare", "/live", "/sizing")
_RUNS, _FILES = "/jobs/", "/assets/"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}
_FOR_EVER = "public, max-age=31536000, immutable"
"""A file's name holds a part of its hash: another content has another name."""


@dataclass(frozen=True, slots=True)
class _File:
    kind: str
    plain: bytes
    zipped: bytes


def is_part(path: str) -> bool:
    """Tell whether an address is the page's own: its shell, or a file that the build left."""
    return (
        path in _ADDRESSES or _is_run(path) or (path.startswith(_FILES) and path[len(_FILES) :] in _files())
    )


def _is_run(path: str) -> bool:
    return path.startswith(_RUNS) and len(path) > len(_RUNS) and "/" not in path[len(_RUNS) :]


@cache
def _files() -> dict[str, _File]:
    """Read what the build left, once: a few small files, by name."""
    if not (_DIST / _SHELL).exists():
        return {}
    found: dict[str, _File] = {}
    for file in _DIST.iterdir():
        kind = _TYPES.get(file.suffix)
        if kind is not None:
            plain = file.read_bytes()
            found[file.name] = _File(kind, plain, gzip.compress(plain, mtime=0))
    return found


@cache
def _shell() -> bytes:
    try:
        return (_DIST / _SHELL).read_bytes()
    except FileNotFoundError:
        return document(
            "jobmeter",
            "<p>The page was not built: <code>scripts/page</code> does it, with Node.js 20. "
            "The API works without, and is described at <code>/docs</code>.</p>",
        ).encode()


def document(title: str, body: str) -> str:
    """Write a plain page of ours."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>'
        f"<body><h1>{escape(title)}</h1>{body}</body></html>"
    )


@get(
    [*_ADDRESSES, f"{_RUNS}{{job_id:str}}"],
    media_type=MediaType.HTML,
    include_in_schema=False,
    sync_to_thread=False,
)
def shell() -> bytes:
    """Give the page's shell; it holds no data."""
    return _shell()


@get(f"{_FILES}{{name:str}}", include_in_schema=False, sync_to_thread=False)
def file(request: Request[Any, Any, State], name: str) -> Response[bytes]:
    """Give a file of the page; only those that the build left have a name here."""
    found = _files().get(name)
    if found is None:
        raise NotFoundException("there is no such file")
    headers = {"cache-control": _FOR_EVER, "vary": "accept-encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(found.plain, media_type=found.kind, headers=headers)
    return Response(found.zipped, media_type=found.kind, headers=headers | {"content-encoding": "gzip"})


ROUTES = [shell, file]
