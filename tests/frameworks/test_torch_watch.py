"""The hooks of a watched loop: what they count, and what they leave alone."""

import copy
import gc
import io
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from jobmeter import hooks
from jobmeter.hooks import torch as hook
from jobmeter.hooks.run import Run
from support import recorder

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("JOBMETER_HOME", str(tmp_path / "home"))
    with hooks.init(project="watch") as opened:
        yield opened


def told(run: Run) -> list[dict[str, object]]:
    """End the run and give what its steps say."""
    run.finish()
    return [line["metrics"] | {"step": line["step"]} for line in recorder.lines(run.folder / "steps.jsonl")]


def model_and_optimizer(**options: float) -> tuple[torch.nn.Linear, torch.optim.SGD]:
    model = torch.nn.Linear(4, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, **options)


def learn(model: torch.nn.Module, samples: int = 8) -> None:
    model(torch.ones(samples, 4)).sum().backward()


def test_batches_accumulated_into_one_step_are_counted_together(run: Run) -> None:
    model, optimizer = model_and_optimizer()
    hook.watch(optimizer, model, run=run)
    learn(model, samples=8)
    learn(model, samples=5)
    optimizer.step()
    learn(model, samples=3)
    optimizer.step()
    assert [metrics["batch_size"] for metrics in told(run)] == [13, 3]


def test_an_evaluation_is_neither_sample_nor_time_of_a_step(run: Run) -> None:
    model, optimizer = model_and_optimizer()
    watcher = hook.watch(optimizer, model, run=run)
    learn(model)
    optimizer.step()
    model.eval()
    model(torch.ones(100, 4))
    model.train()
    learn(model)
    optimizer.step()
    assert watcher.step == 1
    assert [metrics["batch_size"] for metrics in told(run)] == [8, 8]


def test_the_gradient_norm_is_told_every_so_many_steps(run: Run) -> None:
    model, optimizer = model_and_optimizer()
    hook.watch(optimizer, run=run, gradient_norm_every=2)
    for _ in range(4):
        optimizer.zero_grad()
        learn(model, samples=3)
        optimizer.step()
    # the gradient of a sum over 3 samples of ones is 3 for each of 4 weights and the bias
    assert [metrics.get("grad_norm") for metrics in told(run)] == [pytest.approx(3 * 5**0.5), None] * 2


def test_a_torch_without_a_norm_of_its_own_gets_the_same_norm(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch has `get_total_norm` since 2.6."""
    monkeypatch.delattr(torch.nn.utils, "get_total_norm")
    model, optimizer = model_and_optimizer()
    hook.watch(optimizer, run=run, gradient_norm_every=1)
    learn(model, samples=3)
    optimizer.step()
    assert [metrics["grad_norm"] for metrics in told(run)] == [pytest.approx(3 * 5**0.5)]


def test_every_group_of_parameters_has_its_rate(run: Run) -> None:
    model = torch.nn.Linear(4, 1)
    groups = [{"params": [model.weight], "lr": 0.1}, {"params": [model.bias], "lr": 0.01}]
    optimizer = torch.optim.SGD(groups)
    hook.watch(optimizer, run=run)
    learn(model)
    optimizer.step()
    (metrics,) = told(run)
    assert (metrics["lr"], metrics["lr_1"]) == (0.1, 0.01)


def test_a_resumed_loop_counts_on(run: Run) -> None:
    model, optimizer = model_and_optimizer()
    watcher = hook.watch(optimizer, run=run, first_step=1000)
    learn(model)
    optimizer.step()
    watcher.log(loss=torch.tensor(0.5))
    assert [(metrics["step"], metrics.get("loss")) for metrics in told(run)] == [(1000, None), (1000, 0.5)]


def test_a_loop_that_logs_every_step_makes_one_record_of_each(run: Run) -> None:
    model, optimizer = model_and_optimizer()
    watcher = hook.watch(optimizer, run=run)
    for step in range(4):
        learn(model)
        optimizer.step()
        if step < 3:
            watcher.log(loss=step / 4)
    found = [(metrics["step"], metrics.get("loss"), "lr" in metrics) for metrics in told(run)]
    # whether a loop will log is known from its second step on; a step it leaves out is kept all the same
    assert found == [(0, None, True), (0, 0.0, False), (1, 0.25, True), (2, 0.5, True), (3, None, True)]


def test_what_is_logged_before_the_first_step_is_kept_with_it(run: Run) -> None:
    _, optimizer = model_and_optimizer()
    hook.watch(optimizer, run=run).log(loss=2.0)
    assert [(metrics["step"], metrics["loss"]) for metrics in told(run)] == [(0, 2.0)]


def test_a_closed_watcher_tells_nothing(run: Run) -> None:
    model, optimizer = model_and_optimizer()
    watcher = hook.watch(optimizer, model, run=run)
    learn(model)
    optimizer.step()
    watcher.close()
    learn(model)
    optimizer.step()
    assert len(told(run)) == 1


def test_the_watcher_keeps_neither_model_nor_optimizer_alive(run: Run) -> None:
    model, optimizer = model_and_optimizer()
    watcher = hook.watch(optimizer, model, run=run, gradient_norm_every=1)
    learn(model)
    optimizer.step()
    gone = weakref.ref(model), weakref.ref(optimizer), weakref.ref(model.weight)
    del model, optimizer
    gc.collect()
    assert [reference() for reference in gone] == [None, None, None]
    assert watcher.step == 0


def test_a_copy_of_the_model_is_not_watched(run: Run) -> None:
    model, optimizer = model_and_optimizer()
    hook.watch(optimizer, model, run=run)
    average = copy.deepcopy(model)
    average(torch.ones(100, 4))
    learn(model)
    optimizer.step()
    assert [metrics["batch_size"] for metrics in told(run)] == [8]


def test_a_model_saved_whole_loads_where_jobmeter_is_not(run: Run, tmp_path: Path) -> None:
    model, optimizer = model_and_optimizer()
    hook.watch(optimizer, model, run=run)
    torch.save(model, tmp_path / "model.pt")
    script = (
        "import sys; sys.modules['jobmeter'] = None; import torch; "
        f"print(torch.load({str(tmp_path / 'model.pt')!r}, weights_only=False)(torch.ones(2, 4)).shape)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert loaded.stdout == "torch.Size([2, 1])\n", loaded.stderr


def test_an_optimizer_with_hooks_saves_its_state_as_ever(run: Run) -> None:
    model, optimizer = model_and_optimizer(momentum=0.9)
    hook.watch(optimizer, model, run=run)
    learn(model)
    optimizer.step()
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    assert torch.load(file)["param_groups"][0]["momentum"] == 0.9
