"""A loop under Accelerate that logs by name: `accelerate_loop.py FOLDER`; its own log is own.json."""

import json
import sys
from pathlib import Path

import torch
from accelerate import Accelerator

from jobmeter.hooks import accelerate as hook


def main(folder: str) -> None:
    """Train 6 steps; 2 processes when started by torchrun."""
    hook.register()
    hook.register()  # a second time is harmless
    accelerator = Accelerator(cpu=True, log_with="jobmeter")
    accelerator.init_trackers(
        "lines", config={"rate": 0.1, "layers": 1}, init_kwargs={"jobmeter": {"name": "line"}}
    )
    torch.manual_seed(7)
    model = torch.nn.Linear(4, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    own = []
    for step in range(6):
        inputs = torch.randn(8, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        values = {"train/loss": loss.item(), "lr": optimizer.param_groups[0]["lr"]}
        accelerator.log(values, step=step)
        own.append(values)
    accelerator.end_training()
    if accelerator.is_main_process:
        Path(folder, "own.json").write_text(json.dumps(own))


if __name__ == "__main__":
    main(sys.argv[1])
