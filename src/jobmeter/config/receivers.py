"""Who receives runs while they last: `[push]` in the system's and the user's settings, and what is asked of an address.

A project's file comes with the project: whoever wrote it must not choose where runs and tokens go.
"""

from jobmeter.config import tables
from jobmeter.errors import RecordError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def from_table(path: str, table: dict[str, object], environ: "Mapping[str, str]") -> tuple[str | None, bool]:
    """Give the server that a settings file names, and whether it may be reached without encryption."""
    push = table.get("push")
    if path not in tables.files(environ) or not isinstance(push, dict):
        return None, False
    server = push.get("server")
    return (server if isinstance(server, str) else None), push.get("allow_plain_http") is True


def require_private(server: str, environ: "Mapping[str, str]", *, allowed: bool) -> None:
    """Refuse to send a token over the network for all to read, unless that was allowed."""
    if not server.startswith("http://") or allowed or plain_allowed(environ):
        return
    host = server[7:].partition("/")[0]
    if not is_loopback(host):
        raise RecordError(
            f"{host[:200]} would get the token and the run unencrypted",
            hint="use https://, or set JOBMETER_ALLOW_PLAIN_HTTP=1 where the network is trusted",
        )


def plain_allowed(environ: "Mapping[str, str]") -> bool:
    """Tell whether a variable allows to go without encryption."""
    return environ.get("JOBMETER_ALLOW_PLAIN_HTTP", "").lower() in ("1", "true", "yes", "on")


def is_loopback(host: str) -> bool:
    """Tell this machine from others, by a name with or without its port."""
    name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    is_address = name.startswith("127.") and name.replace(".", "").isdecimal()
    return name in ("localhost", "::1") or is_address
