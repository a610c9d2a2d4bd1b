"""On a machine with an NVIDIA GPU: is the GPU memory at twice the batch what the advice said it would be?

    PYTHONPATH=src python tests/truth/gpu_advice.py [SMALL MIDDLE]

Trains at two batch sizes under `jobmeter run`, asks the rule what the second run could do with twice its batch, trains
at that, and holds the prediction against what was recorded, what the driver says and what torch reserved. Needs torch,
numpy and nvidia-ml-py; takes a minute. Prints one line per check, `ok` or `FAIL`; the exit code is the number of
failures.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import gpu_machine

from jobmeter.analysis.case import Case
from jobmeter.analysis.rules import larger_batch
from jobmeter.model.report import Cause, Prediction, Verdict
from jobmeter.model.run import Headline, Run, Status
from jobmeter.model.view import RunView, Series

TRAINING = Path(__file__).with_name("gpu_batch.py")
SMALL, MIDDLE = 8, 16
CLOSE = 0.05
_PEAKS = ("nvml_peak_proc_mem_total", "nvml_peak_mem_used_total", "nvml_peak_mem_used")


def recorded(home: Path, batch: int) -> tuple[Run, dict[str, Any]] | None:
    """Train at one batch size under the recorder; give the run as analysis sees it, and what torch says."""
    told = home.with_name(f"batch{batch}.json")
    command = [sys.executable, str(TRAINING), "--batch_size", str(batch), str(told)]
    ran = subprocess.run(
        gpu_machine.jobmeter("run", "-q", "--sample-interval", "0.5", "--", *command),
        env=gpu_machine.environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode or not told.exists():
        gpu_machine.report(f"train at {batch}", False, ran.stderr[-600:].replace("\n", " | "))
        return None
    folder = gpu_machine.only_run(home)
    end = next(record for record in gpu_machine.lines(folder / "run.jsonl") if record["type"] == "end")
    facts = json.loads(told.read_text())
    key = next((key for key in _PEAKS if key in end["summary"]), None)
    if key is None:
        gpu_machine.report(f"train at {batch}", False, f"no GPU memory in {sorted(end['summary'])}")
        return None
    peak = float(end["summary"][key])
    print(f"     batch {batch}: {key} {peak / 2**20:.0f} MiB; {json.dumps(facts)}", flush=True)
    run = Run(
        run_id=folder.name,
        job_id=folder.name,
        status=Status(end["status"]),
        command=tuple(command),
        headline={
            "gpu_memory_peak_bytes": Headline(value=peak, low=peak, high=peak, keys=(key,), exact=False)
        },
    )
    return run, facts


def predicted(earlier: Run, newest: Run, total_bytes: float) -> tuple[int, Prediction] | None:
    """Ask the rule; what it needs of the series is how much the GPU has and was used."""
    peak = newest.headline["gpu_memory_peak_bytes"].value
    series = {
        (key, "0"): Series(key=key, instance="0", times=(1.0,), values=(value,))
        for key, value in (("nvml_mem_total", total_bytes), ("nvml_mem_used", peak))
    }
    view = RunView(run=newest, series=series, history=(earlier,))
    verdict = Verdict(cause=Cause.COMPLETED, sentence="it completed", confidence=1.0)
    for advice in larger_batch.advise(Case(view=view, verdict=verdict)):
        print(f"     advice: {advice.title}; {advice.impact}", flush=True)
        assert isinstance(advice.recommended_value, int)
        return advice.recommended_value, advice.predictions[0]
    return None


def compare(prediction: Prediction, run: Run, facts: dict[str, Any]) -> None:
    """Hold the prediction against every account of the same memory."""
    actual = run.headline["gpu_memory_peak_bytes"].value
    accounts = {
        "peak at twice the batch": actual,
        "the driver's account": facts["held"] if facts["held"] is not None else facts["device"],
    }
    for name, value in accounts.items():
        gpu_machine.agree(name, prediction.after, value, "B", CLOSE)
    inside = prediction.low <= actual <= prediction.high
    interval = f"{prediction.low / 2**20:.0f} to {prediction.high / 2**20:.0f} MiB"
    gpu_machine.report("within the interval", inside, f"{actual / 2**20:.0f} MiB, predicted {interval}")
    context = actual - facts["reserved"]
    gpu_machine.agree("torch's reserved memory", prediction.after - context, facts["reserved"], "B", CLOSE)


def main(batches: list[int]) -> int:
    """Train three times and compare."""
    began = time.monotonic()
    small, middle = batches or (SMALL, MIDDLE)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        first, second = recorded(home, small), recorded(home, middle)
        if first is None or second is None:
            return gpu_machine.failures
        said = predicted(first[0], second[0], float(second[1]["total"]))
        gpu_machine.report("advice", said is not None and said[0] == 2 * middle, str(said and said[0]))
        third = None if said is None else recorded(home, said[0])
        if said is not None and third is not None:
            compare(said[1], *third)
    print(f"     done in {time.monotonic() - began:.0f} s", flush=True)
    return gpu_machine.failures


if __name__ == "__main__":
    sys.exit(main([int(word) for word in sys.argv[1:]]))
