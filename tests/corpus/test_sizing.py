"""Advice on the tasks of four recorded workflows, scored as `bench/sizing.py` scores it."""

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from jobmeter.analysis.sizing.ledger import Prices
from support import corpus

BENCH = Path(__file__).resolve().parents[2] / "bench"
TRACES = ("chipseq", "eager", "iwd", "rnaseq")
OPTIONS = argparse.Namespace(overlapping=False)


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_sizing", BENCH / "sizing.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def traces(bench: ModuleType) -> dict[str, list[object]]:
    found = corpus.folder("sizing")
    return {name: bench.read_trace(found / f"trace_{name}.csv", "start") for name in TRACES}


def test_the_corpus_holds_the_tasks_the_figures_are_of(traces: dict[str, list[object]]) -> None:
    assert {name: len(tasks) for name, tasks in traces.items()} == {
        "chipseq": 2937,
        "eager": 1576,
        "iwd": 1661,
        "rnaseq": 1308,
    }


@pytest.mark.parametrize(("with_inputs", "bar"), [(False, 0.19), (True, 0.15)])
def test_little_is_wasted_and_few_tasks_fail(
    bench: ModuleType, traces: dict[str, list[object]], with_inputs: bool, bar: float
) -> None:
    policy = bench.jobmeter_policy(Prices(), with_inputs=with_inputs)
    scores = bench.score_all(traces, policy, OPTIONS, with_inputs=with_inputs)
    assert bench.mean_ratio(scores) <= bar
    assert max(one.failures for one in scores) <= 0.017
    stated = [pair for one in scores for pair in one.stated]
    # what is said to fail fails about as often, or less
    assert sum(failed for _, failed in stated) <= 1.1 * sum(chance for chance, _ in stated)
    assert all(0.9 <= one.promised / one.saved <= 1.1 for one in scores)


def test_the_largest_seen_with_a_margin_wastes_what_it_always_did(
    bench: ModuleType, traces: dict[str, list[object]]
) -> None:
    policy = sys.modules["sizing_policies"].BASELINES["largest seen x 1.15"]
    scores = bench.score_all(traces, policy, OPTIONS, with_inputs=False)
    assert bench.mean_ratio(scores) == pytest.approx(0.246, abs=0.001)


@pytest.mark.parametrize("with_inputs", [False, True])
def test_few_tasks_fail_where_a_process_has_only_six(
    bench: ModuleType, traces: dict[str, list[object]], with_inputs: bool
) -> None:
    stress = importlib.import_module("sizing_stress")
    few = {name: stress.chunks(tasks[:600], None, size=6) for name, tasks in traces.items()}
    policy = bench.jobmeter_policy(Prices(), with_inputs=with_inputs)
    scores = bench.score_all(few, policy, OPTIONS, with_inputs=with_inputs)
    assert max(one.failures for one in scores) <= 0.017
    assert bench.mean_ratio(scores) <= 0.7
