"""The memory of a GPU ran out, by the job's own words."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Evidence, LogError, Verdict
from jobmeter.model.units import format_bytes
from jobmeter.model.view import RunView


def judge(view: RunView) -> Verdict | None:
    """Say that a GPU's memory ran out, where that came before everything else."""
    error = story.root(view)
    if error is None or error.signature != "cuda_oom" or not facts.went_wrong(view):
        return None
    evidence: list[Evidence] = [facts.quoted(error, "the job says so")]
    evidence += [_consequence(one) for one in story.consequences(view, error)]
    return facts.verdict(Cause.OOM_CUDA, _sentence(error), 0.95, *evidence, *facts.endings(view.run))


def _consequence(error: LogError) -> Evidence:
    return facts.quoted(error, f"what came of it{facts.on_ranks(error)}")


def _sentence(error: LogError) -> str:
    gpu = f"GPU {error.fields['gpu']}" if "gpu" in error.fields else "the GPU"
    sentence = f"{gpu} ran out of memory{facts.on_ranks(error)}"
    parts = [
        text.format(format_bytes(float(size)))
        for name, text in (
            ("tried_bytes", "{} more were asked for"),
            ("total_bytes", "it has {}"),
            ("free_bytes", "{} were free"),
            ("other_process_bytes", "other processes held {}"),
        )
        if isinstance(size := error.fields.get(name), int)
    ]
    return f"{sentence}: {', '.join(parts)}" if parts else sentence
