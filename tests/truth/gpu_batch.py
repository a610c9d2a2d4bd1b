"""Train a small language model for some steps at one batch size; tell what torch held.

    python gpu_batch.py --batch_size BATCH FILE

Run by gpu_advice.py.
"""

import json
import os
import sys
import time
from pathlib import Path

import pynvml
import torch

WORDS, LENGTH, WIDTH, LAYERS, STEPS = 32000, 512, 1024, 12, 12


def train(batch: int) -> None:
    """Take some steps with Adam in bfloat16."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, 16, 4 * WIDTH, batch_first=True, norm_first=True)
    body = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    model = torch.nn.Sequential(torch.nn.Embedding(WORDS, WIDTH), body, torch.nn.Linear(WIDTH, WORDS))
    model = model.cuda().to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(STEPS):
        tokens = torch.randint(0, WORDS, (batch, LENGTH), device="cuda")
        loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()


def held(handle: object) -> int | None:
    """Ask the driver what this process holds on the GPU."""
    processes = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    return next((one.usedGpuMemory for one in processes if one.pid == os.getpid()), None)


def main(batch: int, told: Path) -> None:
    """Train and tell."""
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    idle = pynvml.nvmlDeviceGetMemoryInfo(handle).used
    train(batch)
    time.sleep(2.5)  # what the allocator keeps is still held when the next samples are taken
    facts = {
        "batch": batch,
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "held": held(handle),
        "device": pynvml.nvmlDeviceGetMemoryInfo(handle).used - idle,
        "total": pynvml.nvmlDeviceGetMemoryInfo(handle).total,
    }
    told.write_text(json.dumps(facts))


if __name__ == "__main__":
    main(int(sys.argv[2]), Path(sys.argv[3]))
