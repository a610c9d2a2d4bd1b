"""A loop over a compiled model, whose graph must stay whole: `compiled_loop.py FOLDER early|late`."""

import sys

import torch

from jobmeter.hooks import torch as hook


def main(_folder: str, when: str) -> None:
    """Watch the compiled model, or (`late`) compile a model that is watched already."""
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    hook.watch(optimizer, model if when == "late" else compiled)
    for _ in range(3):
        optimizer.zero_grad()
        compiled(torch.ones(8, 4)).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
