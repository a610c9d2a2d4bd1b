"""A store of every back end, empty, in a place of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobmeter import stores
from jobmeter.stores import Store
from support import postgres


@contextmanager
def opened(back_end: str, folder: Path) -> Iterator[Store]:
    """Open a new store in a folder, or in a database that is dropped afterwards."""
    if back_end != "postgres":
        store = stores.load(back_end).open_store(folder / "index.db")
        yield store
        store.close()
        return
    with postgres.database() as url:
        store = stores.load(back_end).open_store(url)
        try:
            yield store
        finally:
            store.close()
