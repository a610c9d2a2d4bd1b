"""Plain PyTorch: `watcher = watch(optimizer, model)`, and every optimizer step is a step of the run.

Hooks of the optimizer and the model do it: step time, learning rates, samples. `watcher.log(loss=loss)` adds
what only the loop knows, under the same step. The watcher holds neither model nor optimizer nor gradients.

What can mislead: a step ends when `optimizer.step()` returns, which on a GPU is when its work was queued; once
the queue is full the times are the device's. Gradient norms are those the optimizer saw, after clipping. A
model compiled after it was handed in tells no samples: hand in the compiled one.
"""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import utils

from jobmeter.hooks import framework

if TYPE_CHECKING:
    from jobmeter.hooks.run import Run


class Watcher:
    """Counts optimizer steps and tells jobmeter about each."""

    __slots__ = (
        "_clock",
        "_first_step",
        "_gradient_norm_every",
        "_handles",
        "_logged_step",
        "_norm",
        "_run",
        "_samples",
        "step",
    )

    def __init__(self, run: "Run", *, first_step: int = 0, gradient_norm_every: int = 0) -> None:
        self._run = run
        self._clock = framework.StepClock()
        self._first_step = first_step
        self._gradient_norm_every = gradient_norm_every
        self._handles: list[Any] = []
        self._norm: torch.Tensor | None = None
        self._samples: int | None = None
        self._logged_step: int | None = None
        self.step = first_step - 1
        """The number of the last optimizer step; before the first, one less than it will have."""

    def attach(self, optimizer: torch.optim.Optimizer, model: torch.nn.Module | None = None) -> None:
        """Put the hooks in."""
        self._handles.append(optimizer.register_step_post_hook(self._after_step))
        if self._gradient_norm_every > 0:
            self._handles.append(optimizer.register_step_pre_hook(self._before_step))
        if model is not None:
            self._handles.append(model.register_forward_pre_hook(_ForwardHook(self), with_kwargs=True))

    def log(self, **metrics: object) -> None:
        """Add to the step that was made last, before any to the first; the value of a tensor is waited for."""
        self._logged_step = self.step
        self._run.log(metrics, step=max(self.step, self._first_step))

    def restart(self) -> None:
        """Leave what was done since the last step, say saving a checkpoint, out of the next one's time."""
        self._clock.restart()

    def close(self) -> None:
        """Take the hooks out."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def before_forward(self, batch: object, *, training: bool) -> None:
        """Count the samples of a batch that is to be learned from."""
        if not training:
            self._clock.restart()  # an evaluation between two steps is part of neither
            return
        self._clock.data_ready()
        length = framework.batch_length(batch)
        if length is not None:
            self._samples = (self._samples or 0) + length

    def _before_step(self, optimizer: torch.optim.Optimizer, _arguments: object, _keywords: object) -> None:
        if (self.step + 1) % self._gradient_norm_every:
            return
        parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if gradients:
            self._norm = _total_norm(gradients)

    def _after_step(self, optimizer: torch.optim.Optimizer, _arguments: object, _keywords: object) -> None:
        # a loop that logged the step before will log this one, and both make one record
        more_follows = self._logged_step == self.step
        self.step += 1
        metrics = self._clock.lap()
        for number, group in enumerate(optimizer.param_groups):
            metrics[f"lr_{number}" if number else "lr"] = group["lr"]
        if self._samples is not None:
            metrics["batch_size"] = self._samples
            self._samples = None
        if self._norm is not None:
            metrics["grad_norm"] = self._norm
            self._norm = None
        self._run.log(metrics, step=self.step, commit=not more_follows)


def _total_norm(gradients: list[torch.Tensor]) -> torch.Tensor:
    """Take the norm of all gradients as one vector."""
    total_norm = getattr(utils, "get_total_norm", None)
    if total_norm is not None:
        norm: torch.Tensor = total_norm(gradients)
        return norm
    # torch before 2.6 has it only inside of clip_grad_norm_
    norms = [torch.linalg.vector_norm(gradient) for gradient in gradients]
    return torch.linalg.vector_norm(torch.stack([one.to(norms[0].device) for one in norms]))


class _ForwardHook:
    """What hangs on the model: copies of the model, and models saved whole, get one that does nothing."""

    __slots__ = ("_watcher",)

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def __call__(self, model: torch.nn.Module, arguments: object, keywords: object) -> None:
        # traced by a compiler this would cut the model's graph in two: vanish instead
        if not torch.compiler.is_compiling():
            self._watcher.before_forward((arguments, keywords), training=model.training)

    def __reduce__(self) -> tuple[object, ...]:
        # takes any arguments, does nothing, and can be loaded where jobmeter is not installed
        return getattr, (nullcontext(), "__exit__")


def watch(
    optimizer: torch.optim.Optimizer,
    model: torch.nn.Module | None = None,
    *,
    run: "Run | None" = None,
    first_step: int = 0,
    gradient_norm_every: int = 0,
    **init: Any,
) -> Watcher:
    """Record every step of an optimizer; `gradient_norm_every=N` adds the norm each N steps, at its cost."""
    opened = framework.open_run(run, **init)
    watcher = Watcher(opened, first_step=first_step, gradient_norm_every=gradient_norm_every)
    watcher.attach(optimizer, model)
    return watcher
