"""Settings changed in YAML: only the bytes of the value are replaced, so comments, quotes and order stay."""

import json
from typing import TYPE_CHECKING

from jobmeter.errors import UsageError
from jobmeter.service.editing import NotThereError, paths

if TYPE_CHECKING:
    from ruamel.yaml.nodes import MappingNode, Node


def change(text: str, path: str, value: object) -> str:
    """Give the text with one setting changed."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    try:
        tree, root = reader.load(text), reader.compose(text)
    except (YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"not YAML: {error}", hint="give the config as the job reads it") from error
    *parents, last = paths.resolve(tree, path)
    parent = root
    for part in parents:
        parent = _child(parent, part)
    node = _child(parent, last) if parent is not None else None
    if node is not None:
        return _replaced(text, node, value)
    return _added(text, path, parent, str(last), value)


def _child(node: "Node", part: paths.Part) -> "Node | None":
    if isinstance(part, int):
        children: list[Node] = node.value
        return children[part]
    pairs: list[tuple[Node, Node]] = node.value
    return next((value for key, value in pairs if key.value == part), None)


def _replaced(text: str, node: "Node", value: object) -> str:
    begin, end = node.start_mark.index, node.end_mark.index
    if begin == end:
        # nothing was written: its place is right after the last colon, not where the next words begin
        begin = end = text.rindex(":", 0, begin) + 1
        return f"{text[:begin]} {_written(value)}{text[end:]}"
    # the end of a block list is where the next line's words begin
    kept = text[begin:end]
    return text[:begin] + _written(value) + kept[len(kept.rstrip()) :] + text[end:]


def _added(text: str, path: str, parent: "MappingNode | None", name: str, value: object) -> str:
    if parent is None or parent.flow_style or not parent.value:
        raise NotThereError(f"{path} is not in it")
    mark = parent.start_mark
    return f"{text[: mark.index]}{name}: {_written(value)}\n{' ' * mark.column}{text[mark.index :]}"


def _written(value: object) -> str:
    """Write a value as YAML and JSON both read it."""
    return value if isinstance(value, str) and value.isalnum() else json.dumps(value)
