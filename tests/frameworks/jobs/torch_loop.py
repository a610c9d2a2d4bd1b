"""A bare PyTorch loop that prints its steps: `torch_loop.py FOLDER [watch]`; its own log is printed.csv."""

import sys
import time
from pathlib import Path

import torch


def main(folder: str, reporting: str) -> None:
    """Train 20 steps of 8 samples with a falling learning rate."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=20)
    watcher = None
    if reporting == "watch":
        from jobmeter.hooks import torch as hook

        watcher = hook.watch(optimizer, model, gradient_norm_every=1)
    own = ["step,loss,lr,samples_per_second"]
    for step in range(20):
        began = time.perf_counter()
        time.sleep(0.02)  # lines nearer to one another may be read in one piece, with one time of arrival
        inputs = torch.randn(8, 4)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate = optimizer.param_groups[0]["lr"]
        schedule.step()
        speed = round(8 / (time.perf_counter() - began), 1)
        print(f"step {step} | loss {loss.item():.6f} | lr {rate:.6e} | samples/s {speed}", flush=True)
        own.append(f"{step},{loss.item()!r},{rate!r},{speed}")
        if watcher is not None:
            watcher.log(loss=loss, samples_per_second=speed)
    Path(folder, "own.csv").write_text("\n".join(own) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "nothing")
