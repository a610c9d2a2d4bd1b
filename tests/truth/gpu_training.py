"""Train a small language model on random tokens for some seconds; tell what torch held and when it was steady.

    python gpu_training.py SECONDS FILE [sdk]

With `sdk` the loop records itself by `jobmeter.init()`. Run by gpu_machine.py.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvml
import torch

WORDS, BATCH, LENGTH = 32000, 16, 512


def held(handle: Any) -> int | None:
    """Ask the driver what this process holds on the GPU."""
    processes = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    return next((one.usedGpuMemory for one in processes if one.pid == os.getpid()), None)


def build() -> tuple[torch.nn.Module, Callable[[torch.Tensor], torch.Tensor]]:
    """Make a model and what computes its loss."""
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError:
        layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True)
        body = torch.nn.TransformerEncoder(layer, 12)
        plain = torch.nn.Sequential(torch.nn.Embedding(WORDS, 1024), body, torch.nn.Linear(1024, WORDS))
        plain = plain.cuda().to(torch.bfloat16)
        return plain, lambda tokens: torch.nn.functional.cross_entropy(
            plain(tokens).flatten(0, 1), tokens.flatten()
        )
    config = GPT2Config(n_layer=12, n_embd=1024, n_head=16, n_positions=LENGTH, vocab_size=WORDS)
    model = GPT2LMHeadModel(config).cuda().to(torch.bfloat16)
    return model, lambda tokens: model(input_ids=tokens, labels=tokens).loss


def train(seconds: float, handle: Any, log: Callable[[dict[str, float], int], None]) -> dict[str, object]:
    """Train; log every tenth step."""
    model, loss_of = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> torch.Tensor:
        loss = loss_of(torch.randint(0, WORDS, (BATCH, LENGTH), device="cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    steady, before, steps = time.monotonic(), pynvml.nvmlDeviceGetTotalEnergyConsumption(handle), 0
    while time.monotonic() - steady < seconds:
        loss = step()
        steps += 1
        if steps % 10 == 0:
            log({"loss": float(loss.detach())}, steps)
    torch.cuda.synchronize()
    energy = (pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) - before) / 1000
    return {"steady": steady, "ended": time.monotonic(), "steps": steps, "energy": energy}


class Training:
    """A training loop in this process, timed by steps a second."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
        body = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
        self._model = torch.nn.Sequential(torch.nn.Embedding(WORDS, 768), body, torch.nn.Linear(768, WORDS))
        self._model = self._model.cuda().to(torch.bfloat16)
        self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=1e-4)

    def step_seconds(self, seconds: float) -> float:
        """Train for some time; give the mean time of a step."""
        steps = 0
        torch.cuda.synchronize()
        began = now = time.perf_counter()
        while now - began < seconds:
            for _ in range(10):
                self._step()
            torch.cuda.synchronize()
            steps += 10
            now = time.perf_counter()
        return (now - began) / steps

    def _step(self) -> None:
        # large enough to keep the GPU busy: what the host does meanwhile must not decide the step
        tokens = torch.randint(0, WORDS, (32, 512), device="cuda")
        loss = torch.nn.functional.cross_entropy(self._model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)


def main(seconds: float, told: Path, *, sdk: bool) -> None:
    """Train and tell."""
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    run = None
    if sdk:
        import jobmeter

        run = jobmeter.init(project="truth", name="gpu")
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    first = held(handle)
    context = None if first is None else first - torch.cuda.memory_reserved()
    facts = train(seconds, handle, lambda metrics, step: None if run is None else run.log(metrics, step=step))
    time.sleep(1.5)  # one more sample while everything is still held
    facts |= {"context": context, "reserved": torch.cuda.max_memory_reserved(), "held": held(handle)}
    if run is not None:
        facts["folder"] = str(run.folder)
        run.finish()
    told.write_text(json.dumps(facts))


if __name__ == "__main__":
    main(float(sys.argv[1]), Path(sys.argv[2]), sdk=sys.argv[3:] == ["sdk"])
