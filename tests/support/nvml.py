"""A real library with NVML's interface, compiled here, for machines without a GPU; see nvml_standin/nvml.c."""

import os
import subprocess
from pathlib import Path

from jobmeter.probes.paths import Paths

SOURCE = Path(__file__).parent / "nvml_standin" / "nvml.c"

H200 = {
    "Count": 1,
    "UUID.0": "GPU-11111111-2222-3333-4444-555555555555",
    "Name.0": "NVIDIA H200",
    "Util.0": 87,
    "MemUtil.0": 41,
    "MemUsed.0": 64 << 30,
    "MemTotal.0": 140 << 30,
    "Temperature0.0": 61,
    "PowerUsage.0": 512_500,
    "EnforcedPowerLimit.0": 700_000,
    "TotalEnergyConsumption.0": 1_000_000,
    "ClockInfo1.0": 1980,
    "ClockInfo2.0": 3201,
    "CurrentClocksEventReasons.0": 4,
    "PerformanceState.0": 0,
    "PcieThroughput0.0": 2_000,
    "PcieThroughput1.0": 3_000,
    "EccCorrected.0": 2,
    "EccUncorrected.0": 0,
    "Processes.0": "",
    "Xid.0": 0,
}
"""One device with everything such a board has; it has no fan."""


class StandIn:
    """The library in a folder of its own, and the file its answers come from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._answers = folder / "answers"
        self._known: dict[str, object] = {}
        library = folder / "libnvidia-ml.so.1"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE)], check=True)
        dev = folder / "dev"
        dev.mkdir()
        (dev / "nvidiactl").touch()
        self.paths = Paths(dev=str(dev))

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to load this library instead of a driver's."""
        return {"LD_LIBRARY_PATH": str(self.folder), "NVML_STANDIN": str(self._answers)}

    def clear(self) -> None:
        """Forget every answer."""
        self._known = {}

    def update(self, answers: dict[str, object]) -> None:
        """Change answers by the names of the file; None takes one away."""
        self._known |= answers
        lines = [f"{name} {value}\n" for name, value in self._known.items() if value is not None]
        # whole or not at all: the library reads it at any moment
        fresh = self.folder / "answers.new"
        fresh.write_text("".join(lines))
        os.replace(fresh, self._answers)
