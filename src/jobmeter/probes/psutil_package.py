"""Find psutil, also where the recorder was started without site-packages to start faster."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def load() -> "ModuleType | None":
    """Import psutil; None where it is not installed."""
    try:
        import psutil
    except ImportError:
        return _load_with_site_packages() if sys.flags.no_site else None
    return psutil


def _load_with_site_packages() -> "ModuleType | None":
    import site

    site.main()
    try:
        import psutil
    except ImportError:
        return None
    return psutil
