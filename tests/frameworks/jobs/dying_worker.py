"""Read batches until a worker of the real DataLoader is killed as the kernel would kill it."""

import os
import signal

import torch
from torch.utils.data import DataLoader, Dataset


class Fatal(Dataset[torch.Tensor]):
    """Samples of which one is deadly."""

    def __len__(self) -> int:
        return 256

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == 40:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.ones(4)


if __name__ == "__main__":
    for step, batch in enumerate(DataLoader(Fatal(), batch_size=8, num_workers=2)):
        print(f"step {step} loss {batch.sum().item():.4f}", flush=True)
