"""Serve the runs of a home: API, live stream, metrics."""

import argparse
import os
import sys

from jobmeter.cli import common
from jobmeter.errors import UsageError
from jobmeter.service import binding
from jobmeter.service.serving import DEFAULT_PORT, ServerSettings


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help=f"port (default {DEFAULT_PORT}; 0 takes a free one)"
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
        "--allow-plain-http", action="store_true", help="allow other addresses than loopback without TLS"
    )
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name this server goes by; repeatable",
    )
    parser.add_argument(
        "--metrics-open", action="store_true", help="/metrics without a token, on loopback only"
    )
    parser.add_argument("--home", metavar="DIR", help="where runs are kept")


def main(args: argparse.Namespace) -> int:
    """Serve until told to stop."""
    settings = ServerSettings(
        home=common.home_of(args),
        host=args.host,
        port=args.port,
        database=args.database,
        auth=not args.no_auth,
        unix_socket=args.unix_socket,
        tls_cert=args.tls_cert,
        tls_key=args.tls_key,
        allow_plain_http=args.allow_plain_http,
        allowed_hosts=tuple(name.lower() for name in args.allowed_host),
        metrics_open=args.metrics_open,
        token=os.environ.get("JOBMETER_TOKEN"),
    )
    binding.check(settings)
    try:
        from jobmeter.web import running
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("jobmeter"):
            raise
        raise UsageError(
            f"the package {error.name} is missing", hint="install it: pip install 'jobmeter[server]'"
        ) from None
    running.serve(settings, lambda url: print(f"jobmeter: serving {settings.home} at {url}", file=sys.stderr))
    return 0
