"""Settings changed in JSON: order and indentation are kept, and letters that were written as escapes."""

import json
import re
from typing import Any

from jobmeter.errors import UsageError
from jobmeter.service.editing import paths

_INDENT = re.compile(r"\n([ \t]+)\S")


def change(text: str, path: str, value: object) -> str:
    """Give the text with one setting changed."""
    try:
        tree: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}", hint="give the config as the job reads it") from error
    *parents, last = paths.resolve(tree, path)
    at = tree
    for part in parents:
        at = at[part]
    at[last] = value
    indented = _INDENT.search(text)
    made = json.dumps(tree, indent=None if indented is None else indented[1], ensure_ascii=text.isascii())
    return made + ("\n" if text.endswith("\n") else "")
