"""What macOS prints about its memory, in the snapshot form; the interval form is in the corpus."""

import pytest

from jobmeter.probes import swapusage_macos, vmstat_macos

APPLE_SILICON = """\
Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               45231.
Pages active:                            892341.
Pages inactive:                          234521.
Pages speculative:                        12345.
Pages throttled:                              0.
Pages wired down:                        456789.
Pages purgeable:                          23456.
"Translation faults":                1234567890.
Pages copy-on-write:                   12345678.
File-backed pages:                       345678.
Anonymous pages:                         567890.
Pages stored in compressor:              890123.
Pages occupied by compressor:            123456.
Pageins:                                 987654.
Pageouts:                                    12.
Swapins:                                    123.
Swapouts:                                    45.
"""


def test_a_snapshot_is_read_in_pages_of_its_own_size() -> None:
    pages = vmstat_macos.parse(APPLE_SILICON)
    assert pages is not None
    assert pages.page_bytes == 16384
    assert pages.pages["wired"] == 456789
    assert pages.pages["faults"] == 1234567890
    assert pages.pages["compressor"] == 123456


def test_available_is_free_and_file_backed_and_purgeable() -> None:
    pages = vmstat_macos.parse(APPLE_SILICON)
    assert pages is not None
    assert pages.available_bytes == 6788956160  # (45231 + 345678 + 23456) pages


def test_without_file_backed_pages_nothing_is_called_available() -> None:
    pages = vmstat_macos.parse("Mach Virtual Memory Statistics: (page size of 4096 bytes)\nPages free: 5.\n")
    assert pages is not None
    assert pages.available_bytes is None


@pytest.mark.parametrize(
    "text", ["", "vm_stat: command not found\n", "Pages free: 5.\n", "(page size of 4096 bytes)\n"]
)
def test_what_is_no_snapshot_gives_nothing(text: str) -> None:
    assert vmstat_macos.parse(text) is None


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("total = 2048.00M  used = 1185.25M  free = 862.75M  (encrypted)\n", 1242824704),
        ("vm.swapusage: total = 4096.00M  used = 1536.50M  free = 2559.50M", 1611137024),
        ("total = 1,00G  used = 0,50G  free = 0,50G", 536870912),
        ("total = 0.00M  used = 0.00M  free = 0.00M", 0),
        ("sysctl: unknown oid", None),
        ("used = manyM ", None),
        ("used = 12 ", None),
    ],
)
def test_swap_in_use_is_read_with_its_unit(text: str, used: int | None) -> None:
    assert swapusage_macos.used_bytes(text) == used
