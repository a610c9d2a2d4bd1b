"""Serve the runs of a home: API, live stream, metrics."""

import argparse
import os
import sys

from jobmeter.cli import common
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.service import access, binding, database, opening, server_config
from jobmeter.service.server_settings import DEFAULT_PORT, ServerSettings


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--host", metavar="ADDRESS", help="where to listen (default 127.0.0.1)")
    parser.add_argument(
        "--port", type=int, metavar="N", help=f"port (default {DEFAULT_PORT}; 0 takes a free one)"
    )
    parser.add_argument("--database", metavar="URL", help="keep the index there: postgresql://...")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--no-auth", action="store_true", help="ask for no token; on loopback or a Unix socket only"
    )
    parser.add_argument("--unix-socket", metavar="PATH", help="listen on a Unix socket of mode 0600 instead")
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate, with --tls-key")
    parser.add_argument("--tls-key", metavar="FILE", help="its key")
    parser.add_argument(
        "--allow-plain-http",
        action="store_true",
        default=None,
        help="listen on other addresses than loopback without TLS",
    )
    parser.add_argument(
        "--allowed-host", action="append", metavar="NAME", help="a name this server goes by; may be repeated"
    )
    parser.add_argument(
        "--metrics-open", action="store_true", default=None, help="/metrics without a token, on loopback only"
    )
    parser.add_argument(
        "--requests-per-second", type=float, metavar="N", help="that one token may make (default 500)"
    )
    parser.add_argument("--home", metavar="DIR", help="where runs are kept")


def main(args: argparse.Namespace) -> int:
    """Serve until told to stop."""
    settings = _settings(args)
    binding.check(settings)
    try:
        from jobmeter.web import running
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("jobmeter"):
            raise
        raise UsageError(
            f"the package {error.name} is missing", hint="install it: pip install 'jobmeter[server]'"
        ) from None
    running.serve(settings, lambda url: _ready(settings, url, browse=not args.no_browser))
    return 0


def _settings(args: argparse.Namespace) -> ServerSettings:
    if args.requests_per_second is not None and not 0 < args.requests_per_second < 1e9:
        raise UsageError("--requests-per-second needs a number above 0")
    given: dict[str, object] = {
        "host": args.host,
        "port": args.port,
        "database": None if args.database is None else database.from_argument(args.database),
        "auth": not args.no_auth,
        "unix_socket": args.unix_socket,
        "tls_cert": args.tls_cert,
        "tls_key": args.tls_key,
        "allow_plain_http": args.allow_plain_http,
        "allowed_hosts": args.allowed_host,
        "metrics_open": args.metrics_open,
        "requests_per_second": args.requests_per_second,
    }
    return server_config.settings(common.home_of(args), given, os.environ)


def _ready(settings: ServerSettings, url: str, *, browse: bool) -> None:
    """Say where it is, who may ask, and how to look at it."""
    who = "a token is asked for" if settings.auth else "NO token is asked for"
    print(f"jobmeter: serving {text.clean(settings.home)} at {url}", file=sys.stderr)
    print(f"jobmeter: {who}; index in {settings.database_shown()}; stop with Ctrl-C", file=sys.stderr)
    if (
        not browse
        or settings.unix_socket is not None
        or not (sys.stderr.isatty() and opening.can_open(os.environ))
    ):
        return
    token = access.local_token(settings.home, settings.token) if settings.auth else None
    opening.open_page(settings.home, url, token)
