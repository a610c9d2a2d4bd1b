"""A process died of its own bug: segmentation fault, bus error, illegal instruction, abort."""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign
from jobmeter.model.run import Value

WORDS = ("segmentation fault", "segfault at", "sigsegv", "bus error", "core dumped", "aborted",
         "illegal instruction",
         "sigabrt", "sigbus", "fatal python error", "stack smashing", "double free", "corrupted size",
         "signal 11",
         "unexpected error from cudagetdevicecount", "signal: aborted", "sigill", "floating point exception",
         "stack overflow", "access violation")  # fmt: skip
_SIGNALS = {
    "SIGSEGV": re.compile(
        r"[Ss]egmentation fault|\bsegfault at|\bSIGSEGV\b|[Ss]ignal 11\b|[Aa]ccess violation"
    ),
    "SIGBUS": re.compile(r"\bBus error\b|\bSIGBUS\b"),
    "SIGILL": re.compile(r"[Ii]llegal instruction|\bSIGILL\b"),
    "SIGFPE": re.compile(r"[Ff]loating point exception|\bSIGFPE\b"),
    "SIGABRT": re.compile(
        r"\bAborted(?: \(core dumped\)|\s+\(core)|\bSIGABRT\b|line \d+:\s+\d+ Aborted|^Aborted$"
        r"|stack smashing detected"
        r"|double free or corruption|corrupted size vs|Fatal Python error: Aborted"
    ),
}
_PID = re.compile(r"line \d+:\s+(?P<pid>\d+) |\[(?P<kernel>\d+)\]: segfault")


def read(passage: Passage) -> Sign | None:
    """Read that a process crashed."""
    if passage.level in ("INFO", "DEBUG", "WARNING"):
        return None
    for name, pattern in _SIGNALS.items():
        if pattern.search(passage.text):
            fields: dict[str, Value] = {"signal": name}
            pid = _PID.search(passage.text)
            if pid is not None:
                fields["pid"] = int(pid["pid"] or pid["kernel"])
            return Sign(type="segfault", message=passage.text, fields=fields, same=f"segfault {name}")
    return None
