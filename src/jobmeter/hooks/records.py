"""What a run was told beside its steps: config and summary, as dicts that write themselves down."""

from jobmeter.config import redaction
from jobmeter.hooks import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    Record = dict[str, object]


def document(given: object) -> "Record":
    """Turn a config of any make into a plain dict without secrets; one that has no names is kept under `config`."""
    found = values.plain(given)
    with_names = found if isinstance(found, dict) else {"config": found}
    return {key: redaction.redact_tree(item, key) for key, item in with_names.items()}


def named(given: object) -> "Record":
    """Find the names in a config of any make, values as they are; one without names goes by `config`."""
    found = values.fields(given)
    return {"config": given} if found is None else {str(key): found[key] for key in found}


class Told(dict[str, "Any"]):
    """A dict whose changes are handed on, with its items as attributes too."""

    _changed: "Callable[[Record], None]"
    _named: "Callable[[object], Record]"

    def __init__(
        self, changed: "Callable[[Record], None]", names: "Callable[[object], Record]" = named
    ) -> None:
        super().__init__()
        object.__setattr__(self, "_changed", changed)
        object.__setattr__(self, "_named", names)

    def __setitem__(self, name: str, value: object) -> None:
        super().__setitem__(name, value)
        self._changed({name: value})

    def __getattr__(self, name: str) -> object:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value

    def update(self, *given: object, **named: object) -> None:
        """Take over all of a dict, a dataclass, a Namespace or another config; its own values stay as they are."""
        changes: Record = {}
        for one in (*given, named):
            changes.update(self._named(one))
        if changes:
            super().update(changes)
            self._changed(changes)

    def __ior__(self, given: object) -> "Self":  # type: ignore[misc,override]  # takes more than a dict does
        self.update(given)
        return self

    def adopt(self, given: object) -> None:
        """Take over a config that is written down elsewhere."""
        super().update(self._named(given))

    def setdefault(self, name: str, default: object = None) -> object:
        """Give what is there, or take the default over."""
        if name not in self:
            self[name] = default
        return self[name]

    def __reduce__(self) -> "tuple[type, tuple[Record]]":
        # a copy is an ordinary dict: it tells nobody
        return dict, (dict(self),)
