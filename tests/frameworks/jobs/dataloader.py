"""Read batches through real DataLoader workers, with helpers beside them: `dataloader.py FOLDER fork|spawn`.

Two workers hold 100 MiB each; the compiler's own process pool and multiprocessing's resource tracker run too.
"""

import json
import sys
import time
from multiprocessing import resource_tracker
from pathlib import Path

import torch
from torch._inductor.compile_worker.subproc_pool import SubprocPool
from torch.utils.data import DataLoader, Dataset, get_worker_info

HELD_BYTES = 100 << 20
SECONDS = 3.0


class Held(Dataset[torch.Tensor]):
    """Samples that take a moment to make, by a worker that holds memory of its own."""

    def __init__(self) -> None:
        self._held: torch.Tensor | None = None

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> torch.Tensor:
        if self._held is None and get_worker_info() is not None:
            self._held = torch.ones(HELD_BYTES, dtype=torch.uint8)
        time.sleep(0.005)
        return torch.ones(4) * index


def main(folder: str, method: str) -> None:
    """Load for a few seconds and write down which processes were the workers."""
    resource_tracker.ensure_running()
    pool = SubprocPool(1)
    pool.submit(len, "compiler").result()
    loader = DataLoader(Held(), batch_size=8, num_workers=2, multiprocessing_context=method)
    batches = iter(loader)
    workers = [worker.pid for worker in batches._workers]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        next(batches)
    Path(folder, "workers.json").write_text(json.dumps(workers))
    del batches
    pool.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
