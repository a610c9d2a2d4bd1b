"""Advice on what a job failed of: GPU allocations, disks, descriptors, shared memory, collectives."""

import dataclasses

import pytest

from jobmeter.analysis.case import Case
from jobmeter.model.report import Cause, LogError, Severity
from jobmeter.model.view import Event
from support import cases, views
from support.cases import advised, only


def failed(cause: Cause, *errors: LogError, **facts: object) -> Case:
    told: dict[str, object] = {"log_errors": errors, "events": facts.pop("events", ())}
    return cases.case(cause, told=told, **facts)  # type: ignore[arg-type]


def error(signature: str, **fields: object) -> LogError:
    return LogError(
        level="ERROR",
        type="Error",
        message=f"{signature}!",
        signature=signature,
        fields=fields,  # type: ignore[arg-type]
        stream="stderr",
    )


def test_memory_in_pieces_is_mended_by_segments_that_grow() -> None:
    advice = only("fragmentation", failed(Cause.OOM_CUDA, cases.cuda_oom(tried=2, reserved=75, allocated=60)))
    assert (advice.config_path, advice.recommended_value) == (
        "PYTORCH_CUDA_ALLOC_CONF",
        "expandable_segments:True",
    )
    assert advice.impact == "Up to 15 GiB that lies in pieces can be used: enough for what failed"
    part = only("fragmentation", failed(Cause.OOM_CUDA, cases.cuda_oom(tried=20, reserved=75, allocated=60)))
    assert part.impact.endswith("a part of what failed")
    unsaid = only("fragmentation", failed(Cause.OOM_CUDA, cases.cuda_oom(reserved=75, allocated=60)))
    assert unsaid.severity is Severity.CRITICAL


@pytest.mark.parametrize(
    "sizes",
    [
        {"tried": 2},
        {"reserved": 75},
        {"reserved": 75, "allocated": 75},
        {"tried": 9, "reserved": 75, "allocated": 74},
    ],
)
def test_memory_that_is_whole_is_not_called_pieces(sizes: dict[str, float]) -> None:
    assert advised("fragmentation", failed(Cause.OOM_CUDA, cases.cuda_oom(**sizes))) == []


def test_segments_that_grow_already_are_not_asked_to() -> None:
    told = {"environment": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64,expandable_segments:true"}}
    pieces = cases.cuda_oom(tried=2, reserved=75, allocated=60)
    assert advised("fragmentation", failed(Cause.OOM_CUDA, pieces, context=told)) == []
    other = {"environment": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}}
    assert len(advised("fragmentation", failed(Cause.OOM_CUDA, pieces, context=other))) == 1


def test_what_the_job_survived_is_not_what_it_failed_of() -> None:
    survived = dataclasses.replace(cases.cuda_oom(tried=2, reserved=75, allocated=60), survived=True)
    assert advised("fragmentation", failed(Cause.OOM_CUDA, survived)) == []
    for rule in ("fragmentation", "tensor_too_big", "gpu_neighbour"):
        assert (
            advised(rule, failed(Cause.EXCEPTION, cases.cuda_oom(tried=90, total=80, other_process=40))) == []
        )


@pytest.mark.parametrize(
    ("tried", "words"), [(90, "more than the whole GPU has"), (50, "more than half of the GPU")]
)
def test_one_tensor_can_be_too_large(tried: float, words: str) -> None:
    advice = only("tensor_too_big", failed(Cause.OOM_CUDA, cases.cuda_oom(tried=tried, total=80)))
    assert words in advice.impact
    assert advice.config_path is None


def test_a_tensor_of_common_size_is_not_named() -> None:
    small = (cases.cuda_oom(tried=2, total=80), cases.cuda_oom(tried=2))
    assert advised("tensor_too_big", failed(Cause.OOM_CUDA, *small)) == []


def test_a_neighbour_that_took_the_memory_is_named() -> None:
    advice = only("gpu_neighbour", failed(Cause.OOM_CUDA, cases.cuda_oom(other_process=30, total=80)))
    assert (advice.severity, advice.impact) == (Severity.CRITICAL, "30 GiB more for the job")
    small = (cases.cuda_oom(other_process=1, total=80), cases.cuda_oom(tried=1))
    assert advised("gpu_neighbour", failed(Cause.OOM_CUDA, *small)) == []


def test_a_neighbour_that_was_only_seen_is_named_too() -> None:
    seen = failed(Cause.COMPLETED, findings=[cases.finding("gpu_neighbour")])
    assert only("gpu_neighbour", seen).severity is Severity.WARNING


def test_a_full_disk_needs_room() -> None:
    saved = tuple(views.event(second, "checkpoint") for second in (1, 2))
    case = failed(Cause.DISK_FULL, events=saved, headline=cases.headlines(io_write_bytes=2.0**31))
    assert only("disk_full", case).impact == "Room to finish: it had written 2 GiB in all, 2 checkpoints"
    unmeasured = failed(Cause.DISK_FULL, events=saved[:1])
    assert only("disk_full", unmeasured).impact == "Room to finish: it had written 1 checkpoint"
    bare = only("disk_full", failed(Cause.DISK_FULL))
    assert (bare.impact, bare.evidence[0].source) == ("Room to finish", "verdict")


def test_open_files_are_allowed_and_shared_in_other_ways() -> None:
    descriptors = error("resource_limit", limit="open_files")
    config = {"config": {"num_workers": 4}}
    advice = only("open_files", failed(Cause.RESOURCE_LIMIT, descriptors, context=config))
    assert advice.action.startswith("Run ulimit -n 65536 before the job")
    assert "set_sharing_strategy" in advice.action
    assert "sharing" not in only("open_files", failed(Cause.RESOURCE_LIMIT, descriptors)).action
    assert (
        advised("open_files", failed(Cause.RESOURCE_LIMIT, error("resource_limit", limit="processes"))) == []
    )
    assert advised("open_files", failed(Cause.RESOURCE_LIMIT, error("exception"))) == []


@pytest.mark.parametrize("fields", [{"shared_memory": 1}, {"signal": "SIGBUS"}])
def test_workers_without_shared_memory_get_more(fields: dict[str, object]) -> None:
    advice = only("shared_memory", failed(Cause.WORKER_KILLED, error("worker_killed", **fields)))
    assert (advice.config_path, advice.recommended_value) == ("--shm-size", "8g")


def test_shared_memory_is_not_blamed_for_other_deaths() -> None:
    others = (error("worker_killed", signal="SIGKILL"), error("exception"))
    survived = dataclasses.replace(error("worker_killed", shared_memory=1), survived=True)
    assert advised("shared_memory", failed(Cause.WORKER_KILLED, *others, survived)) == []


def test_a_timeout_is_raised_only_where_a_rank_was_late() -> None:
    gave_up = error("nccl_timeout", timeout_seconds=600.0)
    late = failed(Cause.NCCL_TIMEOUT, gave_up, findings=[cases.finding("stragglers")])
    advice = only("nccl_timeout", late)
    assert (advice.config_path, advice.current_value, advice.recommended_value) == (
        "ddp_timeout",
        600.0,
        1200,
    )
    dead = only("nccl_timeout", failed(Cause.NCCL_TIMEOUT, gave_up))
    assert dead.title == "Find the rank that did not come"
    assert dead.evidence[0].quote == "nccl_timeout!"
    assert only("nccl_timeout", failed(Cause.NCCL_TIMEOUT)).evidence == ()


def test_a_stall_that_lasts_to_the_end_is_the_waiting_itself() -> None:
    gave_up = error("nccl_timeout", timeout_seconds=600.0)
    waited = failed(Cause.NCCL_TIMEOUT, gave_up, findings=[cases.finding("stall", at_end=1)])
    assert only("nccl_timeout", waited).title == "Find the rank that did not come"
    uneven = failed(Cause.NCCL_TIMEOUT, gave_up, findings=[cases.finding("rank_imbalance")])
    assert only("nccl_timeout", uneven).title == "Find the rank that did not come"
    paused = failed(Cause.NCCL_TIMEOUT, gave_up, findings=[cases.finding("stall", at_end=0)])
    assert only("nccl_timeout", paused).title == "Give late ranks more time"


def test_a_rank_that_stopped_is_looked_at_and_no_timeout_is_raised() -> None:
    gave_up = error("nccl_timeout", timeout_seconds=600.0)
    found = dataclasses.replace(cases.finding("rank_stopped", run_id="run-1"), rank=1)
    advice = only(
        "nccl_timeout", failed(Cause.NCCL_TIMEOUT, gave_up, findings=[cases.finding("stragglers"), found])
    )
    assert advice.title == "Find out why rank 1 stopped"
    assert "`jobmeter analyze run-1`" in advice.action
    assert (advice.config_path, advice.evidence[0].source, advice.evidence[0].rank) == (
        None,
        "rank_stopped",
        1,
    )


def test_events_of_other_kinds_are_no_checkpoints() -> None:
    other = Event(timestamp=1.0, type="alert")
    assert "checkpoints" not in only("disk_full", failed(Cause.DISK_FULL, events=(other,))).impact


@pytest.mark.parametrize("rule", ["disk_full", "open_files", "nccl_timeout"])
def test_rules_on_failures_are_silent_after_others(rule: str) -> None:
    assert advised(rule, failed(Cause.EXCEPTION, error("exception"))) == []


@pytest.mark.parametrize(
    ("message", "command", "action"),
    [
        (
            "No module named 'flash_attn'",
            ("/venv/bin/python3.11", "a.py"),
            "Run /venv/bin/python3.11 -m pip install flash-attn",
        ),
        ("No module named 'cv2'", ("make",), "Run python -m pip install opencv-python"),
        ("No module named 'sklearn.svm'", (), "Run python -m pip install --upgrade scikit-learn"),
        (
            "/usr/bin/python3: No module named torch.distributed.run",
            ("/usr/bin/python3", "-m", "torch.distributed.run"),
            "Run /usr/bin/python3 -m pip install --upgrade torch",
        ),
        (
            "cannot import name 'LlamaModel' from 'transformers' (/v/lib/site-packages/transformers/__init__.py)",
            ("python", "a.py"),
            "Run python -m pip install --upgrade transformers",
        ),
        (
            "cannot import name 'soft_unicode' from 'markupsafe' (/usr/lib/python3/dist-packages/markupsafe.py)",
            (),
            "Run python -m pip install --upgrade markupsafe",
        ),
    ],
)
def test_a_module_that_is_missing_is_to_be_installed_where_the_job_looks(
    message: str, command: tuple[str, ...], action: str
) -> None:
    told = dataclasses.replace(error("import_error"), message=message)
    advice = only("missing_module", failed(Cause.IMPORT_ERROR, told, command=command, exit_code=1))
    assert (advice.action, advice.severity) == (action, Severity.CRITICAL)
    assert advice.evidence


@pytest.mark.parametrize(
    "message",
    [
        (
            "cannot import name 'foo' from partially initialized module 'utils' "
            "(most likely due to a circular import) (/v/lib/site-packages/utils.py)"
        ),
        "cannot import name 'Net' from 'models' (/home/u/src/models.py)",
        "cannot import name 'Net' from 'models' (unknown location)",
        "cannot import name 'Net'",
        "No module named 'random.shuffle'; 'random' is not a package",
        "No module named train.__main__; 'train' is a package and cannot be directly executed",
        "No module named 'google.cloud'",
        "No module named 'google'",
        "No module named '_ctypes'",
        "No module named 'tkinter'",
    ],
)
def test_what_is_no_package_of_that_name_gets_no_stranger_installed(message: str) -> None:
    told = dataclasses.replace(error("import_error"), message=message)
    assert advised("missing_module", failed(Cause.IMPORT_ERROR, told)) == []


@pytest.mark.parametrize(
    ("module", "impact"),
    [
        (
            "utils",
            "The job gets past its import of utils, unless it is a file of yours: then PYTHONPATH must lead to it",
        ),
        (
            "src.models",
            (
                "src is there, but in a version without src.models: an older one may be the right one too, "
                "unless src is a folder of yours"
            ),
        ),
    ],
)
def test_a_module_may_be_a_file_of_the_users_own(module: str, impact: str) -> None:
    told = dataclasses.replace(error("import_error"), message=f"No module named '{module}'")
    assert only("missing_module", failed(Cause.IMPORT_ERROR, told)).impact == impact


def test_what_else_is_missing_has_no_package() -> None:
    library = dataclasses.replace(
        error("import_error"), message="libcudart.so.12: cannot open shared object file"
    )
    assert advised("missing_module", failed(Cause.IMPORT_ERROR, library)) == []
    assert advised("missing_module", failed(Cause.IMPORT_ERROR)) == []
    module = dataclasses.replace(error("import_error"), message="No module named 'x'")
    assert advised("missing_module", failed(Cause.EXCEPTION, module)) == []


@pytest.mark.parametrize("cause", [Cause.NAN_LOSS, Cause.DIVERGED])
def test_a_loss_that_runs_away_wants_a_smaller_learning_rate(cause: Cause) -> None:
    advice = only("learning_rate", failed(cause, context={"config": {"optimizer": {"lr": 3e-4}}}))
    assert (advice.config_path, advice.current_value, advice.recommended_value) == (
        "optimizer.lr",
        3e-4,
        3e-5,
    )
    assert advice.action == "Set lr: 3e-05, and clip gradients (max_grad_norm: 1.0)"
    on_command = only("learning_rate", failed(cause, command=("python", "a.py", "--learning-rate", "0.5")))
    assert (on_command.config_path, on_command.recommended_value) == ("--learning-rate", 0.05)


def test_a_learning_rate_that_is_not_known_is_lowered_all_the_same() -> None:
    for config in ({}, {"lr": "auto"}, {"lr": 0}):
        advice = only("learning_rate", failed(Cause.NAN_LOSS, context={"config": config}))
        assert (advice.config_path, advice.recommended_value) == (None, None)
        assert advice.action == "Try a tenth of it, and clip gradients (max_grad_norm: 1.0)"
    assert advised("learning_rate", failed(Cause.COMPLETED, context={"config": {"lr": 0.1}})) == []
