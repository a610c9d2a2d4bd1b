"""Opens the page of a server in the user's browser, with the token, without anybody else seeing it.

The token stands in the fragment of the address, which browsers do not send. It must not stand in a command
line either, where every user of the machine could read it: the browser is given a file of this user alone
that leads on to the address.
"""

import html
import os
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from jobmeter.service import announcing

FILE = "open.html"


def address(url: str, token: str | None) -> str:
    """Write the address of the page for the owner of a token."""
    return url if token is None else f"{url}#token={quote(token, safe='')}"


def open_page(home: str, url: str, token: str | None) -> bool:
    """Have a browser open the page; False where there is none."""
    path = Path(home, FILE)
    target = html.escape(address(url, token), quote=True)
    announcing.write_private(
        path,
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>jobmeter</title>'
        f'<meta http-equiv="refresh" content="0; url={target}"></head>'
        f'<body><a href="{target}">jobmeter</a></body></html>\n',
    )
    return webbrowser.open(path.absolute().as_uri())


def can_open(environ: Mapping[str, str]) -> bool:
    """Tell whether this is a desktop, where opening a browser is no surprise."""
    return os.uname().sysname == "Darwin" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
