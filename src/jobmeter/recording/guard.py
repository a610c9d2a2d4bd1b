"""The one place that catches everything: whatever is wrong with recording, the job does not feel it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


def attempt(action: "Callable[[], T]", failed: "Callable[[str], None]") -> "T | None":
    """Do one part of recording; on any error say what it was and go on without it."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001  # a bug or a broken source costs data, never the job
        failed(f"{type(error).__name__}: {error}")
        return None
