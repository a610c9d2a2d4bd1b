"""Commands that may hang: ask one, and let go of one whatever state it is in."""

import asyncio

from jobmeter.fleet.endpoint import NoGpusError
from jobmeter.fleet.tail import TargetError

_NOT_FOUND = 127
"""The shell at the other end found no such command."""


async def gpu_answer(process: asyncio.subprocess.Process) -> str:
    """Give what `nvidia-smi` printed; let go of it when nobody waits any more."""
    try:
        out, err = await process.communicate()
    finally:
        end(process)
    if process.returncode:
        said = (err or out).decode("utf-8", "replace").strip().splitlines()
        reason = said[-1] if said else f"exit code {process.returncode}"
        raise (NoGpusError if process.returncode == _NOT_FOUND else TargetError)(f"nvidia-smi: {reason}")
    return out.decode("utf-8", "replace")


def end(process: asyncio.subprocess.Process) -> None:
    """Kill a command and close its pipes, also where it hangs in the kernel or left children that hold them."""
    process._transport.close()  # type: ignore[attr-defined]  # Process has no way to close pipes that never end
