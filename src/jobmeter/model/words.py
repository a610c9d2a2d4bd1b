"""The part of `enum` the recorder needs, without the 5 ms its import costs before every short job.

Type checkers see the real `enum.Enum`: members, exhaustiveness and lookups are checked as such.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import Enum as Enum  # noqa: PLC0414  # re-exported
else:

    class _Members(type):
        def __new__(cls, name, bases, namespace):
            members = {key: value for key, value in namespace.items() if not key.startswith("_")}
            body = {key: value for key, value in namespace.items() if key not in members}
            made = super().__new__(cls, name, bases, body)
            made._by_value = {}
            for key, value in members.items():
                member = object.__new__(made)
                member.name, member.value = key, value
                made._by_value[value] = member
                type.__setattr__(made, key, member)
            return made

        def __call__(cls, value):
            try:
                return cls._by_value[value]
            except (KeyError, TypeError):
                raise ValueError(f"{value!r} is not a valid {cls.__name__}") from None

        def __iter__(cls) -> "Iterator[object]":
            return iter(cls._by_value.values())

        def __len__(cls) -> int:
            return len(cls._by_value)

        def __contains__(cls, value) -> bool:
            return isinstance(value, cls)

    class Enum(metaclass=_Members):
        """A closed set of named words; compare members with `is`."""

        def __repr__(self) -> str:
            return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

        def __str__(self) -> str:
            return f"{type(self).__name__}.{self.name}"

        def __reduce__(self):
            return type(self), (self.value,)

        def __deepcopy__(self, _memo):
            return self

        def __copy__(self):
            return self
