"""Settings changed in TOML: comments, order and spaces are kept."""

from typing import Any

from jobmeter.errors import UsageError
from jobmeter.service.editing import paths


def change(text: str, path: str, value: object) -> str:
    """Give the text with one setting changed."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        tree: Any = tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise UsageError(f"not TOML: {error}", hint="give the config as the job reads it") from error
    *parents, last = paths.resolve(tree.unwrap(), path)
    at = tree
    for part in parents:
        at = at[part]
    at[last] = value
    return tomlkit.dumps(tree)
