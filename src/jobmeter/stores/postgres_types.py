"""How values travel to and from PostgreSQL: text that it cannot hold is made visible, numbers stay exact.

A text there holds no NUL and no half of a surrogate pair. Headers of chunks are `numeric`, because whole numbers
beyond 2^53 must stay whole; a fraction is told from a whole number by its point.
"""

from typing import TYPE_CHECKING

from psycopg import adapt
from psycopg.types import string

from jobmeter.stores import documents

if TYPE_CHECKING:
    from psycopg.abc import AdaptContext, Buffer

Number = int | float


class _TextDumper(string.StrDumper):
    def dump(self, obj: str) -> "Buffer | None":
        return super().dump(obj if documents.is_plain(obj) else documents.clean(obj))


class _BinaryTextDumper(string.StrBinaryDumper):
    def dump(self, obj: str) -> "Buffer | None":
        return super().dump(obj if documents.is_plain(obj) else documents.clean(obj))


class _UntypedTextDumper(string.StrDumperUnknown):
    def dump(self, obj: str) -> "Buffer | None":
        return super().dump(obj if documents.is_plain(obj) else documents.clean(obj))


class _NumberLoader(adapt.Loader):
    def load(self, data: "Buffer") -> Number:
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


def register(context: "AdaptContext") -> None:
    """Teach a connection these types."""
    # the last is used where nothing else is asked for: what it writes takes the type of its column
    for dumper in (_BinaryTextDumper, _TextDumper, _UntypedTextDumper):
        context.adapters.register_dumper(str, dumper)
    context.adapters.register_loader("numeric", _NumberLoader)


def numeric(value: Number) -> str:
    """Write a number so that it comes back as it was, whole or not."""
    text = repr(value)
    # without a point the server could not tell 1e300 from a whole number
    return f"{value:.1f}" if "e+" in text else text
