"""Signs of an NVIDIA driver in the file system: looked at without waking it."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.probes.paths import Paths


def present(paths: "Paths") -> bool:
    """Say whether there is a driver: its control device, its folder in `/proc`, or WSL's door to the one of Windows."""
    candidates = (f"{paths.dev}/nvidiactl", f"{paths.proc}/driver/nvidia/gpus", f"{paths.dev}/dxg")
    return any(os.path.exists(path) for path in candidates)
