"""How a server was asked to be: options of the command line over the table `[server]` of the settings files."""

import os
from collections.abc import Callable, Mapping

from jobmeter.config import tables
from jobmeter.errors import UsageError
from jobmeter.service import access
from jobmeter.service.server_settings import Limits, ServerSettings

_Check = Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_rate(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) and name for name in value)


SETTINGS: dict[str, tuple[_Check, str]] = {
    "allow_plain_http": (_is_truth, "true or false"),
    "allowed_hosts": (_is_names, "a list of names"),
    "host": (_is_text, "an address"),
    "metrics_open": (_is_truth, "true or false"),
    "port": (_is_whole, "a whole number"),
    "requests_per_second": (_is_rate, "a number above 0"),
    "tls_cert": (_is_text, "a file"),
    "tls_key": (_is_text, "a file"),
    "unix_socket": (_is_text, "a path"),
}
"""What `[server]` may hold. Whether a token is asked for is no setting: `--no-auth` is said each time."""


def settings(
    home: str,
    given: Mapping[str, object],
    environ: Mapping[str, str],
    *,
    system: str = tables.SYSTEM,
) -> ServerSettings:
    """Put together what was given (None is not) and what the files say."""
    values: dict[str, object] = {**_from_files(environ, system)}
    values.update({key: value for key, value in given.items() if value is not None})
    limits = Limits(requests_per_second=float(str(values.pop("requests_per_second", 500.0))))
    values["allowed_hosts"] = tuple(name.lower() for name in _names(values.get("allowed_hosts", ())))
    return ServerSettings(
        home=os.path.abspath(home),
        limits=limits,
        token=environ.get(access.VARIABLE) or None,
        **values,  # type: ignore[arg-type]  # each was checked by its row of SETTINGS or by the command line
    )


def _names(value: object) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list | tuple) else []


def _from_files(environ: Mapping[str, str], system: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in tables.read("server", environ, system).items():
        name = key.replace("-", "_")
        if name not in SETTINGS:
            raise UsageError(f"unknown setting {key} in [server]", hint=f"use one of {', '.join(SETTINGS)}")
        check, wanted = SETTINGS[name]
        if not check(value):
            raise UsageError(f"bad value for {key} in [server]", hint=f"use {wanted}")
        found[name] = value
    return found
