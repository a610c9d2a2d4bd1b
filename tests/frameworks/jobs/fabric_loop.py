"""A Fabric loop that logs its losses: `fabric_loop.py FOLDER`; its own log is own.csv."""

import argparse
import pickle
import sys
from pathlib import Path

import torch
from lightning.fabric import Fabric

from jobmeter.hooks.lightning import JobmeterLogger


def main(folder: str) -> None:
    """Train 5 steps."""
    logger = JobmeterLogger(project="lines", prefix="train/")
    fabric = Fabric(accelerator="cpu", loggers=logger)
    fabric.launch()
    logger.log_hyperparams(argparse.Namespace(rate=0.1), {"hp/best": 0.5})
    fabric.seed_everything(7, verbose=False)
    model = torch.nn.Linear(4, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    own = ["step,loss"]
    for step in range(5):
        inputs = torch.randn(8, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        fabric.log("loss", loss, step=step)
        own.append(f"{step},{loss.item()!r}")
    spawned = pickle.loads(pickle.dumps(logger))  # noqa: S301  # as strategies that spawn do
    print(logger.name, logger.version, spawned.experiment.id)
    Path(folder, "own.csv").write_text("\n".join(own) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
