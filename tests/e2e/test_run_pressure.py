"""When memory becomes short, the recorder looks at once, not only when the next sample is due."""

import sys
from pathlib import Path

from support import cgroups
from support.recorder import Home

THRASH = """
import mmap, os, sys, time
with open(sys.argv[1], 'wb') as file:
    for _ in range(256): file.write(os.urandom(1 << 20))
mapped = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 0, prot=mmap.PROT_READ)
stalled = lambda: int(open('/proc/pressure/memory').readline().rsplit('=', 1)[1])
before = stalled()
# half a second of stalls within what is a window of 2 s, or 20 s at the most
until = time.monotonic() + 20
while stalled() - before < 800_000 and time.monotonic() < until:
    for at in range(0, len(mapped), 4096): mapped[at]
time.sleep(0.2)
"""


def test_memory_pressure_brings_a_sample_of_its_own(home: Home, memory_limit: str, tmp_path: Path) -> None:
    """128 MiB allowed, a mapped file of 256 read again and again; by the clock no sample is due for a minute."""
    done = home.run(
        "-q",
        "--sample-interval",
        "1200",
        sys.executable,
        "-S",
        "-c",
        THRASH,
        str(tmp_path / "file"),
        preexec_fn=lambda: cgroups.write(f"{memory_limit}/cgroup.procs", b"0"),
    )
    assert done.code == 0
    assert done.run["samples"] >= 2, "the last sample is always taken; the other came by pressure"
