"""Marks by which builds and long jobs say how far they are: `[70%] PyTorch built [1495s]`, `Starting Step #2`.

A percentage alone is no milestone: every line of a CMake build has one. The seconds at the end make it one.
"""

import re

_MARK = re.compile(
    r"\[\s*(?P<percent>\d{1,3}(?:\.\d+)?)%\]\s*(?P<name>\S.*?)\s*\[(?P<seconds>\d+(?:\.\d+)?)s\]\s*$"
)
_STEP = re.compile(r"^(?P<what>Starting|Finished) Step #(?P<number>\d+)(?: - \"(?P<name>[^\"]*)\")?\s*$")


def parse(text: str) -> dict[str, object] | None:
    """Read a milestone's details; None where the line is none."""
    found = _MARK.search(text) if "%]" in text else None
    if found is not None:
        return {
            "percent": float(found["percent"]),
            "name": found["name"],
            "elapsed_seconds": float(found["seconds"]),
        }
    found = _STEP.match(text)
    if found is None:
        return None
    name = f"{found['what']} Step #{found['number']}"
    return {"name": f"{name} - {found['name']}" if found["name"] else name}
