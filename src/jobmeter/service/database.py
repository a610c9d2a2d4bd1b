"""Which database holds the index instead of a file of its own: `JOBMETER_DATABASE`, or `database` in a settings file.

Only the system's and the user's settings count. A project's file comes with the project, and whoever wrote it
would learn of every run.
"""

import os
import platform
import secrets
from collections.abc import Mapping
from pathlib import Path

from jobmeter.errors import UsageError

VARIABLE = "JOBMETER_DATABASE"
SETTING = "database"
BACK_ENDS = {"postgres": "postgres", "postgresql": "postgres"}
"""By the scheme of a URL: the store that understands it."""
HOME_ID = "home.id"
"""A file in the home, made when its runs are first indexed in a database."""
_SYSTEM = "/etc/jobmeter/config.toml"


def chosen(environ: Mapping[str, str], *, system: str = _SYSTEM) -> str | None:
    """Give the URL that was asked for; None for an index in a file of its own."""
    given = environ.get(VARIABLE)
    if given is not None:
        return given or None
    user = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "/"), ".config")
    for path in (os.path.join(user, "jobmeter", "config.toml"), system):
        found = _setting(path)
        if found is not None:
            return found or None
    return None


def back_end(url: str) -> str:
    """Name the store for a URL."""
    scheme = url.partition("://")[0]
    if scheme not in BACK_ENDS:
        raise UsageError(
            f"unknown kind of database: {scheme[:40]}",
            hint="use a URL such as postgresql://user@host/name",
        )
    return BACK_ENDS[scheme]


def from_argument(url: str) -> str:
    """Take a URL from the command line, which every user of the machine can read, unless a password is in it."""
    from urllib.parse import parse_qs, urlsplit

    try:
        parts = urlsplit(url)
        told = bool(parts.password) or "password" in parse_qs(parts.query)
    except ValueError:
        told = "@" in url  # whoever opens it says what is wrong with it
    if told:
        raise UsageError(
            "everybody on this machine can read the password in --database",
            hint=f"give the URL as {VARIABLE}, or put the password into ~/.pgpass",
        )
    return url


def origin(home: Path) -> str:
    """Name a home among those that share a database: by a file in it, which is the same wherever it is mounted."""
    path = home / HOME_ID
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        made = secrets.token_hex(8)
    try:
        # written whole under a name of its own first: of two processes that come at once one wins, the other reads
        draft = home / f".{HOME_ID}-{made}"
        draft.write_text(f"{made}\n", "ascii")
        try:
            os.link(draft, path)
        except FileExistsError:
            made = path.read_text("ascii").strip()
        finally:
            draft.unlink()
    except OSError:
        return f"{platform.node()}:{os.path.realpath(home)}"  # a home that is not there yet, or not ours to write
    return made


def shown(url: str) -> str:
    """Write a URL without its password and options."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _setting(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return None  # no settings there, or not ours to read
    import tomllib

    try:
        table = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}", hint="mend that line") from error
    found = table.get(SETTING)
    return found if isinstance(found, str) else None
