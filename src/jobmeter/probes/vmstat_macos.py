"""`vm_stat` of macOS, as one snapshot or with an interval.

Counted in pages of 4096 bytes (Intel) or 16384 (Apple silicon), as the header says. With an interval the
table repeats its header every screen: the first row after each header counts since boot, the rows below it
count since the row above. On a machine with unified memory the GPU's allocations are wired pages.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SNAPSHOT_NAMES = {
    "Pages free": "free",
    "Pages active": "active",
    "Pages inactive": "inactive",
    "Pages speculative": "speculative",
    "Pages throttled": "throttled",
    "Pages wired down": "wired",
    "Pages purgeable": "purgeable",
    '"Translation faults"': "faults",
    "File-backed pages": "file_backed",
    "Anonymous pages": "anonymous",
    "Pages stored in compressor": "compressed",
    "Pages occupied by compressor": "compressor",
    "Pageins": "pageins",
    "Pageouts": "pageouts",
    "Swapins": "swapins",
    "Swapouts": "swapouts",
}

_INTERVAL_NAMES = {
    "free": "free",
    "active": "active",
    "inactive": "inactive",
    "specul": "speculative",
    "throttle": "throttled",
    "wired": "wired",
    "prgable": "purgeable",
    "faults": "faults",
    "file-backed": "file_backed",
    "anonymous": "anonymous",
    "cmprssed": "compressed",
    "cmprssor": "compressor",
    "pageins": "pageins",
    "pageout": "pageouts",
    "swapins": "swapins",
    "swapouts": "swapouts",
}

COUNTERS = frozenset(("faults", "pageins", "pageouts", "swapins", "swapouts"))
"""Events since boot; everything else is a number of pages now."""


class VmStat:
    """One look at the machine's pages, by name; counters always count since boot."""

    __slots__ = ("page_bytes", "pages")

    def __init__(self, page_bytes: int, pages: dict[str, int]) -> None:
        self.page_bytes = page_bytes
        self.pages = pages

    @property
    def available_bytes(self) -> int | None:
        """Memory to be had without compressing or swapping: free, file-backed and purgeable pages."""
        free, cached = self.pages.get("free"), self.pages.get("file_backed")
        if free is None or cached is None:
            return None
        return (free + cached + self.pages.get("purgeable", 0)) * self.page_bytes


def parse(text: str) -> VmStat | None:
    """Read the snapshot form; None where the text is not one."""
    lines = text.splitlines()
    page_bytes = _page_bytes(lines[0]) if lines else None
    if page_bytes is None:
        return None
    pages: dict[str, int] = {}
    for line in lines[1:]:
        label, colon, value = line.rpartition(":")
        number = value.strip().rstrip(".")
        if colon and number.isdigit() and label.strip() in _SNAPSHOT_NAMES:
            pages[_SNAPSHOT_NAMES[label.strip()]] = int(number)
    return VmStat(page_bytes, pages) if pages else None


def parse_interval(lines: "Iterator[str]") -> "Iterator[VmStat]":
    """Read the rows of `vm_stat SECONDS`, deltas added up to counts since boot."""
    page_bytes: int | None = None
    names: list[str] = []
    since_boot: dict[str, int] = {}
    for line in lines:
        header = _page_bytes(line)
        words = line.split()
        if header is not None:
            page_bytes, since_boot = header, {}
        elif words[:1] == ["free"]:
            names = words
        elif page_bytes is not None and len(words) == len(names) and all(word.isdigit() for word in words):
            row = {
                _INTERVAL_NAMES[name]: int(word)
                for name, word in zip(names, words, strict=True)
                if name in _INTERVAL_NAMES
            }
            since_boot = {name: since_boot.get(name, 0) + row[name] for name in COUNTERS if name in row}
            yield VmStat(page_bytes, {**row, **since_boot})


def _page_bytes(line: str) -> int | None:
    _, found, rest = line.partition("page size of ")
    word, _, _ = rest.partition(" ")
    return int(word) if found and word.isdigit() else None
