"""Where in a tree of settings a path leads: `config.process[0].datasets[0].num_workers`."""

import re
from collections.abc import Mapping

from jobmeter.analysis import configs
from jobmeter.service.editing import NotThereError

_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
Part = str | int


def parts_of(path: str) -> tuple[Part, ...]:
    """Split a path into names and places."""
    return tuple(name or int(place) for name, place in _PART.findall(path))


def resolve(tree: object, path: str) -> tuple[Part, ...]:
    """Find where a setting stands in a tree: at its path, else under any name it has, else where it could be added."""
    parts = parts_of(path)
    if _reaches(tree, parts):
        return parts
    name = configs.canonical(path)
    found = None if name is None else configs.written(tree, name)
    if found is not None:
        return parts_of(found.path)
    if len(parts) > 1 and _reaches(tree, parts[:-1]):
        return parts
    raise NotThereError(f"{path} is not in it")


def _reaches(tree: object, parts: tuple[Part, ...]) -> bool:
    for part in parts:
        named = isinstance(part, str) and isinstance(tree, Mapping) and part in tree
        placed = isinstance(part, int) and isinstance(tree, list) and part < len(tree)
        if not named and not placed:
            return False
        tree = tree[part]  # type: ignore[index]  # it has one, as was just seen
    return True
