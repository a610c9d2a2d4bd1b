"""YAML that tools write beside their logs: hyper-parameters, arguments, meta data; read, never acted upon.

Lightning writes Python objects (`!!python/object`); such a tag is dropped and what it holds is kept.
"""

from pathlib import Path

from jobmeter.formats import content, loose_json, training

_LARGEST_BYTES = 4 << 20
_MOST_VALUES = 100_000
"""Ten lines of aliases to aliases unfold into billions."""


def mapping(path: Path) -> dict[str, object]:
    """Read a file that holds a mapping; empty where it is missing, damaged or something else."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            return {}
        text = content.text(path)
    except OSError:
        return {}  # not beside, or not ours to read
    return parse(text)


def parse(text: str) -> dict[str, object]:
    """Read a text that holds a mapping; empty where it does not."""
    # imported here: a hundred modules for what few files need
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.Constructor = _tolerant(SafeConstructor)
    reader.allow_duplicate_keys = True
    try:
        value = reader.load(text)
    except (YAMLError, ValueError, TypeError, RecursionError):
        return {}
    if not isinstance(value, dict) or not _is_small(value):
        return {}
    return loose_json.mapping(training.plain(value))


def _is_small(value: object) -> bool:
    """Count the values behind all aliases, one that holds itself included, up to the limit."""
    waiting, seen = [value], 0
    while waiting and seen <= _MOST_VALUES:
        item = waiting.pop()
        seen += 1
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list | tuple | set):
            waiting.extend(item)
    return not waiting


def _tolerant(base: type) -> type:
    """Make a constructor that takes unknown tags for what they are put on."""
    from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

    def construct(self: object, _suffix: str, node: object) -> object:
        if isinstance(node, MappingNode):
            return self.construct_mapping(node, deep=True)  # type: ignore[attr-defined]  # ruamel's constructor
        if isinstance(node, SequenceNode):
            return self.construct_sequence(node, deep=True)  # type: ignore[attr-defined]  # ruamel's constructor
        return node.value if isinstance(node, ScalarNode) else None

    made: type = type("Tolerant", (base,), {})
    made.add_multi_constructor("", construct)  # type: ignore[attr-defined]  # ruamel's constructor
    return made
