"""What a training script hands over, turned into plain values: metrics to numbers, configs to JSON.

No array library is imported: whatever has an `item()` is asked for its one number. Asking a tensor on a GPU
waits for the GPU. Numbers stay exact: whole ones whole beyond 2^53, NaN and infinities under their JSON names.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Number = int | float
    Plain = str | int | float | bool | dict[str, object] | list[object] | None

PLAIN = frozenset((int, float))
"""Types of metrics that are written as they are."""

SPECIAL = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

LARGEST_STEP = (1 << 63) - 1
LARGEST = 17 * 10**307
"""Whole numbers beyond all floats, or nearly so: no store sorts them, no chart shows them."""

_DEEPEST = 20
_LONGEST_TEXT = 65536
_SHOWN = 60


class RefusedError(Exception):
    """A value that cannot be kept; says why in the words that follow the metric's name."""


def number(value: object) -> "Number":
    """Turn anything that is one number into it, or refuse it."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int):
        if not -LARGEST <= value <= LARGEST:
            raise RefusedError("it is larger than any float")
        return int(value)
    if value is None or isinstance(value, str | bytes | list | tuple | set | complex):
        raise RefusedError(f"{_shown(value)} is not a number")
    return _asked(value)


def _asked(value: object) -> "Number":
    """Ask an array, a tensor or a Decimal for its number."""
    item = getattr(value, "item", None)
    if callable(item):
        try:
            inner = item()
        except (TypeError, ValueError, RuntimeError) as error:
            raise RefusedError(f"a {type(value).__name__} is not one number ({_first_line(error)})") from None
        if isinstance(inner, int | float):
            return number(inner)
        raise RefusedError(f"a {type(value).__name__} of {_shown(inner)} is not a number")
    if not hasattr(type(value), "__float__"):
        raise RefusedError(f"{_shown(value)} is not a number")
    try:
        return float(value)  # type: ignore[arg-type]  # it has __float__
    except (TypeError, ValueError, RuntimeError) as error:
        raise RefusedError(f"{_shown(value)} is not a number ({_first_line(error)})") from None


def metrics(
    given: "Mapping[object, object]", refuse: "Callable[[str, RefusedError], None]"
) -> "dict[str, Number]":
    """Flatten nested metrics with `/`; what is no number goes to `refuse`."""
    found: dict[str, Number] = {}
    for name, value in _flat(given, "", 0):
        try:
            if isinstance(value, RefusedError):
                raise value
            found[_spelled(name)] = number(value)
        except RefusedError as refusal:
            refuse(name, refusal)
    return found


def _flat(given: "Mapping[object, object]", before: str, depth: int) -> "Iterator[tuple[str, object]]":
    for key, value in list(given.items()):
        name = f"{before}{key}"
        if not is_mapping(value):
            yield name, value if isinstance(key, str | int) else RefusedError("its name is not a string")
        elif depth < _DEEPEST:
            yield from _flat(value, f"{name}/", depth + 1)  # type: ignore[arg-type]  # a mapping
        else:
            yield name, RefusedError("it is nested too deeply")


def for_json(value: "Number") -> "Number | str":
    """Keep a number; NaN and infinities, which JSON does not know, by name."""
    if value != value or value in (float("inf"), float("-inf")):
        return SPECIAL[str(float(value))]
    return value


def step(given: object) -> int:
    """Read a step number; one that no store can hold, or that is not whole, is refused."""
    count = number(given)
    if count != count or count in (float("inf"), float("-inf")) or int(count) != count:
        raise RefusedError(f"{count} is not a whole number")
    if not -LARGEST_STEP <= count <= LARGEST_STEP:
        raise RefusedError(f"{count} is out of range")
    return int(count)


def is_mapping(value: object) -> bool:
    """Tell a mapping by what it can do: OmegaConf's and Flax's are no dicts."""
    return isinstance(value, dict) or (hasattr(value, "keys") and hasattr(value, "__getitem__"))


def plain(value: object, depth: int = 0) -> "Plain":
    """Turn a config value into plain JSON; what has no JSON form is kept as `{"repr": ...}`."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _spelled(str(value))[:_LONGEST_TEXT]
    if isinstance(value, int | float):
        return for_json(int(value) if isinstance(value, int) else float(value))
    if depth >= _DEEPEST:
        return marked(value)
    inner = fields(value)
    if inner is not None:
        return {_spelled(str(key)): plain(item, depth + 1) for key, item in inner.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, set | frozenset):
        return [plain(item, depth + 1) for item in sorted(value, key=str)]
    return _scalar(value)


def _scalar(value: object) -> "Plain":
    path = getattr(value, "__fspath__", None)
    if callable(path):
        return _spelled(str(value))
    try:
        return for_json(_asked(value))
    except RefusedError:
        return marked(value)


def marked(value: object) -> "dict[str, object]":
    """Keep what a thing looks like, marked as such."""
    try:
        text = repr(value)
    except (TypeError, ValueError, RuntimeError, AttributeError, RecursionError):
        text = f"<{type(value).__name__}>"  # a broken __repr__ is no reason to lose the rest
    return {"repr": _spelled(text)[:_LONGEST_TEXT]}


def fields(value: object) -> "Mapping[object, object] | None":
    """Find the named parts of a mapping, a dataclass, an argparse Namespace or a config object."""
    if isinstance(value, dict):
        return value
    if is_mapping(value):
        return {key: value[key] for key in value.keys()}  # type: ignore[attr-defined,index]  # noqa: SIM118  # not every mapping iterates over its keys
    if isinstance(value, type):
        return None
    names = getattr(value, "__dataclass_fields__", None)
    if isinstance(names, dict):
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    if type(value).__name__ == "Namespace" or type(value).__name__ == "SimpleNamespace":
        found: dict[object, object] = {}
        found.update(vars(value))
        return found
    return _told(value)


def _told(value: object) -> "Mapping[object, object] | None":
    """Ask a config object for itself as a dict, as transformers and pydantic offer it."""
    for name in ("model_dump", "to_dict", "_asdict"):
        method = getattr(value, name, None)
        if callable(method):
            try:
                told = method()
            except (TypeError, ValueError, RuntimeError, AttributeError):
                continue  # it wants arguments, or is not what it looks like
            return told if isinstance(told, dict) else None
    return None


def _spelled(text: str) -> str:
    """Make a text that UTF-8 can hold: half a surrogate pair cannot be written."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _shown(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"the text {value[:_SHOWN]!r}"
    return f"a {type(value).__name__}"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:_SHOWN]
