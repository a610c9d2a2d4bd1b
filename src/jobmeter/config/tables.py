"""Tables of the settings files that only readers and servers use: `[server]`, `[upstream]`, `[alerts]`, ...

Only the system's and the user's file count. A project's file comes with the project: whoever wrote it must
not choose where runs, tokens and messages go.
"""

import os

from jobmeter.errors import UsageError, reason_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SYSTEM = "/etc/jobmeter/config.toml"


def files(environ: "Mapping[str, str]", system: str = SYSTEM) -> list[str]:
    """Name the files that count, the nearest last."""
    user = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "/"), ".config")
    return [system, os.path.join(user, "jobmeter", "config.toml")]


def read(name: str, environ: "Mapping[str, str]", system: str = SYSTEM) -> dict[str, object]:
    """Read one table; what the user's file says replaces what the system's says, key by key."""
    found: dict[str, object] = {}
    for path in files(environ, system):
        table = _load(path).get(name, {})
        if not isinstance(table, dict):
            raise UsageError(f"{name} in {path} is no table", hint=f"write [{name}] and its settings below")
        found.update(table)
    return found


def _load(path: str) -> dict[str, object]:
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}", hint="mend that line") from None
