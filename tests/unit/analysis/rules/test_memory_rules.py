"""Advice where memory is short, tight or left over: host memory by the host's, GPU memory by the GPU's."""

import copy
import dataclasses

import pytest

from jobmeter.analysis import engine, rooms
from jobmeter.analysis.case import Case
from jobmeter.model import roles
from jobmeter.model.report import Cause, LogError, Severity
from jobmeter.model.run import Run, Status
from jobmeter.model.view import Event
from support import cases
from support.cases import advised, only
from support.views import GIB, STARTED

FULL_GPU = cases.gpu_series(76)
TIGHT_GPU = cases.gpu_series(70)
HALF_GPU = cases.gpu_series(40)


def aitk(**changes: object) -> dict[str, object]:
    """Give an ai-toolkit config with other values in its `train` and `model`."""
    config = copy.deepcopy(cases.AI_TOOLKIT)
    process = config["config"]["process"][0]  # type: ignore[index]
    for name, value in changes.items():
        part = "model" if name in process["model"] else "train"
        process[part][name] = value
    return config


def on_gpu(series: list[object], gib: float, config: object = None, **facts: object) -> Case:
    """Build a training on one GPU of 80 GiB."""
    told = facts.pop("told", None)
    cause = facts.pop("cause", Cause.COMPLETED)
    return cases.case(
        cause,  # type: ignore[arg-type]
        series=series,  # type: ignore[arg-type]
        told=told,  # type: ignore[arg-type]
        headline=cases.headlines(gpu_memory_peak_bytes=gib * GIB, memory_peak_bytes=4 * GIB),
        context=cases.context(cases.TRAINER if config is None else config, config_path="job.yml"),
        limits=cases.limits(64),
        **facts,
    )


def in_host(
    gib: float, config: object = None, *, limit: float = 10, cause: Cause = Cause.COMPLETED, **facts: object
) -> Case:
    """Build a training in host memory, limited to 10 GiB."""
    return cases.case(
        cause,
        headline=cases.headlines(memory_peak_bytes=gib * GIB),
        context=cases.context(cases.TRAINER if config is None else config),
        limits=cases.limits(limit),
        **facts,  # type: ignore[arg-type]
    )


def earlier(batch: int, gib: float, **config: object) -> Run:
    return cases.run(
        headline=cases.headlines(gpu_memory_peak_bytes=gib * GIB, memory_peak_bytes=gib * GIB),
        context={"config": cases.TRAINER | {"per_device_train_batch_size": batch} | config},
    )


def test_workers_that_hold_memory_are_given_up_when_it_is_short() -> None:
    crew = [cases.worker(1, 4, roles.MAIN), cases.worker(2, 4), cases.worker(3, 4)]
    advice = only("num_workers", in_host(9.5, cause=Cause.OOM_CGROUP, processes=crew))
    assert (advice.severity, advice.title, advice.action) == (
        Severity.CRITICAL,
        "Reduce worker count",
        "Set num_workers: 0",
    )
    assert (advice.config_path, advice.current_value, advice.recommended_value) == (
        "dataloader_num_workers",
        2,
        0,
    )
    assert advice.impact.startswith(
        "Saves 2.75 GiB per worker, about 2.81 GiB of memory (2.75 GiB to 5.5 GiB)"
    )
    (predicted,) = advice.predictions
    assert predicted.quantity == "memory_peak_bytes"
    assert (predicted.low, predicted.high) == (4.0 * GIB, 6.75 * GIB)
    assert predicted.after == (6.75 - 1 / 16) * GIB


def test_the_example_of_the_design_comes_out_of_ai_toolkit_s_config() -> None:
    crew = [cases.worker(1, 103, roles.MAIN), cases.worker(2, 8), cases.worker(3, 8.5)]
    case = cases.case(
        Cause.OOM_HOST,
        processes=crew,
        headline=cases.headlines(memory_peak_bytes=119 * GIB),
        context=cases.context(cases.AI_TOOLKIT, config_path="job.yml", host={"memory_bytes": 120 * GIB}),
        limits=cases.limits(120),
    )
    advice = only("num_workers", case)
    assert advice.config_path == "config.process[0].datasets[0].num_workers"
    assert advice.impact.startswith("Saves 8 GiB per worker")


def test_workers_are_counted_where_the_config_does_not_say() -> None:
    crew = [cases.worker(1, 4, roles.MAIN), cases.worker(2, 3)]
    advice = only("num_workers", in_host(9.5, {}, processes=crew))
    assert (advice.config_path, advice.current_value) == (None, 1)


def test_workers_of_all_epochs_are_not_counted_as_one_crew() -> None:
    epochs = [
        dataclasses.replace(
            cases.worker(pid, 1), first_seen=STARTED + 10 * epoch, last_seen=STARTED + 10 * epoch + 9
        )
        for epoch in range(6)
        for pid in (2 + 2 * epoch, 3 + 2 * epoch)
    ]
    advice = only("num_workers", in_host(9.5, {}, processes=[cases.worker(1, 7, roles.MAIN), *epochs]))
    assert advice.current_value == 2
    assert advice.evidence[1].sentence == "2 workers held 2 GiB that the training itself does not"


@pytest.mark.parametrize(
    ("config", "also"),
    [
        ({"persistent_workers": True}, "persistent_workers"),
        ({"dataloader_prefetch_factor": 4}, "dataloader_prefetch_factor"),
    ],
)
def test_settings_that_need_workers_go_with_them(config: dict[str, object], also: str) -> None:
    crew = [cases.worker(1, 4, roles.MAIN), cases.worker(2, 4)]
    advice = only("num_workers", in_host(9.5, config | {"num_workers": 1}, processes=crew))
    assert advice.action == f"Set num_workers: 0, and remove {also}: a DataLoader without workers refuses it"


@pytest.mark.parametrize(
    "crew",
    [
        [],
        [cases.worker(1, 9.49, roles.MAIN), cases.worker(2, 4)],
        [
            cases.worker(1, 4, roles.MAIN),
            cases.worker(2, 0).__class__(instance="2@1", pid=2, role=roles.WORKER),
        ],
    ],
)
def test_workers_that_hold_nothing_of_their_own_are_left(crew: list[object]) -> None:
    assert advised("num_workers", in_host(9.5, processes=crew)) == []


def test_workers_are_left_where_memory_is_not_short_or_not_known() -> None:
    crew = [cases.worker(1, 4, roles.MAIN), cases.worker(2, 4)]
    assert advised("num_workers", in_host(8.9, processes=crew)) == []
    assert advised("num_workers", cases.case(processes=crew)) == []


def test_a_full_gpu_says_nothing_of_workers_in_host_memory() -> None:
    crew = [cases.worker(1, 1, roles.MAIN), cases.worker(2, 1)]
    assert advised("num_workers", on_gpu(FULL_GPU, 76, processes=crew)) == []


def test_quantisation_and_ema_are_said_where_the_gpu_is_full() -> None:
    case = on_gpu(FULL_GPU, 76, cases.AI_TOOLKIT)
    quantise, ema = only("quantisation", case), only("ema", case)
    assert quantise.title == "Enable quantization (qtype: qfloat8)"
    assert quantise.impact.startswith("Reduces model memory by 50%")
    assert (quantise.config_path, quantise.recommended_value) == ("config.process[0].model.quantize", True)
    assert ema.title == "Disable EMA (use_ema: false)"
    assert ema.impact.startswith("Saves ~1GB for LoRA")
    assert ema.config_path == "config.process[0].train.ema_config.use_ema"


def test_other_words_for_eight_bits() -> None:
    assert only("quantisation", on_gpu(FULL_GPU, 76, {"load_in_8bit": False})).title == (
        "Enable quantization (load_in_8bit: true)"
    )


@pytest.mark.parametrize(
    ("rule", "config"), [("quantisation", aitk(quantize=True)), ("ema", aitk(ema_config={}))]
)
def test_what_is_set_already_is_not_said(rule: str, config: object) -> None:
    assert advised(rule, on_gpu(FULL_GPU, 76, config)) == []


@pytest.mark.parametrize(
    "rule", ["quantisation", "ema", "batch_size", "gradient_checkpointing", "resolution"]
)
def test_nothing_is_said_where_the_gpu_has_room_or_nothing_was_measured(rule: str) -> None:
    assert advised(rule, on_gpu(HALF_GPU, 40, cases.AI_TOOLKIT)) == []
    assert advised(rule, cases.case(context={"config": cases.AI_TOOLKIT})) == []
    assert advised(rule, on_gpu(FULL_GPU, 76, {"lr": 1})) == []


def test_a_batch_is_halved_where_nothing_tells_what_a_sample_takes() -> None:
    advice = only("batch_size", on_gpu(FULL_GPU, 76))
    assert (advice.title, advice.recommended_value) == ("Reduce max_batch_size to 4", 4)
    assert advice.impact.startswith("Based on actual peak usage (half of it")
    (predicted,) = advice.predictions
    assert (predicted.low, predicted.after, predicted.high) == (38 * GIB, 57 * GIB, 76 * GIB)


def test_a_batch_is_reduced_as_a_fit_says() -> None:
    case = on_gpu(FULL_GPU, 76, told={"history": (earlier(4, 40),)})
    advice = only("batch_size", case)
    assert advice.recommended_value == 6
    assert advice.predictions[0].after == 58 * GIB


def test_a_batch_of_one_cannot_be_reduced() -> None:
    assert advised("batch_size", on_gpu(FULL_GPU, 76, aitk(batch_size=1))) == []


def test_what_an_allocation_said_stands_for_a_gpu_that_was_not_sampled() -> None:
    error = cases.cuda_oom(tried=2, total=80, free=1, process=79, allocated=70, reserved=75)
    case = cases.case(Cause.OOM_CUDA, told={"log_errors": (error,)}, context={"config": cases.TRAINER})
    assert only("batch_size", case).recommended_value == 4
    assert rooms.gpu(case) == rooms.Room(
        quantity="gpu_memory_peak_bytes",
        peak_bytes=79.0 * GIB,
        limit_bytes=80.0 * GIB,
        used_ratio=79 / 80,
        is_exhausted=True,
    )


@pytest.mark.parametrize("sizes", [{"tried": 2}, {"total": 80}, {"total": 80, "free": 81}])
def test_an_allocation_that_says_too_little_stands_for_nothing(sizes: dict[str, float]) -> None:
    case = cases.case(Cause.OOM_CUDA, told={"log_errors": (cases.cuda_oom(**sizes),)})
    assert rooms.gpu(case) is None


def test_an_allocation_that_says_only_what_was_free() -> None:
    case = cases.case(Cause.OOM_CUDA, told={"log_errors": (cases.cuda_oom(total=80, free=4),)})
    room = rooms.gpu(case)
    assert room is not None
    assert room.peak_bytes == 76 * GIB


def test_gpu_memory_is_that_of_all_gpus_and_the_fullest_decides() -> None:
    series = [*cases.gpu_series(76), *cases.gpu_series(40, instance="GPU-1")]
    room = rooms.gpu(on_gpu(series, 116))  # type: ignore[arg-type]
    assert room is not None
    assert (room.limit_bytes, room.peak_bytes, room.used_ratio) == (160 * GIB, 116 * GIB, 0.95)
    bare = cases.case(series=series)
    assert rooms.gpu(bare) is not None
    assert rooms.gpu(bare).peak_bytes == 76 * GIB  # type: ignore[union-attr]


def test_gpu_memory_without_a_total_is_no_share() -> None:
    assert rooms.gpu(cases.case(series=cases.gpu_series(76)[1:])) is None


@pytest.mark.parametrize(
    ("free", "peak", "ratio"), [(3, 50, 61 / 64), (3, 10, 10 / 64), (99, 50, 50 / 64), (None, 50, 50 / 64)]
)
def test_a_machine_counts_as_full_only_by_what_the_job_holds(
    free: float | None, peak: float, ratio: float
) -> None:
    summary = {} if free is None else {"host_low_mem_available": int(free * GIB)}
    case = cases.case(
        headline=cases.headlines(memory_peak_bytes=peak * GIB), context=cases.context(), summary=summary
    )
    room = rooms.host(case)
    assert room is not None
    assert room.used_ratio == pytest.approx(ratio)


def test_a_limit_below_the_machine_is_what_counts() -> None:
    case = in_host(9, summary={"host_low_mem_available": GIB})
    room = rooms.host(case)
    assert room is not None
    assert room.used_ratio == 0.9
    assert (
        rooms.host(cases.case(headline=cases.headlines(memory_peak_bytes=GIB), context={"host": 3})) is None
    )


def test_checkpointing_is_advised_where_memory_is_tight() -> None:
    told = {"history": (earlier(4, 42),), "steps": cases.steps([1.0] * 20, [0.1] * 20)}
    advice = only("gradient_checkpointing", on_gpu(TIGHT_GPU, 70, told=told))
    assert (advice.severity, advice.title) == (Severity.WARNING, "Enable gradient checkpointing")
    memory, seconds = advice.predictions
    assert memory.after == round((70 - 56 * 0.65) * GIB)
    assert seconds.after == pytest.approx(0.1 + 0.9 * 1.3)


def test_checkpointing_without_a_fit_predicts_nothing() -> None:
    assert only("gradient_checkpointing", on_gpu(FULL_GPU, 76)).predictions == ()


def test_checkpointing_is_not_advised_twice_or_with_room() -> None:
    assert advised("gradient_checkpointing", on_gpu(FULL_GPU, 76, {"gradient_checkpointing": True})) == []


def test_checkpointing_is_given_up_for_speed_where_there_is_room() -> None:
    config = cases.TRAINER | {"gradient_checkpointing": True}
    advice = only("no_checkpointing", on_gpu(cases.gpu_series(20), 20, config))
    assert advice.title == "Disable gradient checkpointing for speed"
    assert advice.predictions == ()
    history = (earlier(4, 17.5, gradient_checkpointing=True),)
    told = {"history": history, "steps": cases.steps([1.3] * 20, [0.0] * 20)}
    fitted = only("no_checkpointing", on_gpu(cases.gpu_series(20), 20, config, told=told))
    memory, seconds = fitted.predictions
    assert memory.after == round((15 + 5 / 0.35) * GIB)
    assert seconds.after == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("used", "history"), [(40, ()), (40, (earlier(4, 25, gradient_checkpointing=True),))]
)
def test_checkpointing_stays_where_the_activations_might_not_fit(
    used: float, history: tuple[Run, ...]
) -> None:
    config = cases.TRAINER | {"gradient_checkpointing": True}
    assert (
        advised("no_checkpointing", on_gpu(cases.gpu_series(used), used, config, told={"history": history}))
        == []
    )


def test_only_a_run_that_ended_well_is_told_to_use_more() -> None:
    config = cases.TRAINER | {"gradient_checkpointing": True}
    failed = on_gpu(cases.gpu_series(20), 20, config, status=Status.FAILED)
    assert advised("no_checkpointing", failed) == []
    assert advised("larger_batch", failed) == []


@pytest.mark.parametrize(
    "told",
    [
        {"events": (Event(timestamp=1.0, type="oom"),)},
        {
            "log_errors": (
                LogError(level="WARNING", type="x", message="y", signature="cuda_oom", survived=True),
            )
        },
    ],
)
def test_a_run_that_was_short_of_memory_for_a_moment_is_not_told_to_use_more(told: dict[str, object]) -> None:
    config = cases.TRAINER | {"gradient_checkpointing": True}
    short = on_gpu(cases.gpu_series(20), 20, config, told=told)
    assert advised("no_checkpointing", short) == []
    assert advised("larger_batch", short) == []


def test_a_lower_resolution_takes_the_square_of_it() -> None:
    advice = only("resolution", on_gpu(TIGHT_GPU, 70, cases.AI_TOOLKIT))
    assert (advice.title, advice.recommended_value) == ("Consider lower resolution", [512, 768])
    assert advice.impact == "Quadratic memory scaling: 56 % of the activations remain"
    told = {"history": (earlier(4, 42, image_size=256),)}
    plain = only("resolution", on_gpu(TIGHT_GPU, 70, cases.TRAINER | {"image_size": 256}, told=told))
    assert (plain.recommended_value, plain.predictions[0].after) == (192, round((70 - 56 * 0.4375) * GIB))


@pytest.mark.parametrize("side", ["512", 64, True, [512, "x"], []])
def test_a_resolution_that_is_no_side_is_left(side: object) -> None:
    assert advised("resolution", on_gpu(TIGHT_GPU, 70, {"resolution": side})) == []


def test_a_batch_twice_as_large_is_offered_where_it_surely_fits() -> None:
    advice = only("larger_batch", on_gpu(cases.gpu_series(30), 30))
    assert (advice.severity, advice.title) == (
        Severity.INFO,
        "Memory allows batch_size: 16, currently using 8",
    )
    (predicted,) = advice.predictions
    assert (predicted.low, predicted.after, predicted.high) == (30 * GIB, 45 * GIB, 60 * GIB)
    assert advised("larger_batch", on_gpu(HALF_GPU, 40)) == []


def test_a_training_whose_loss_is_nan_has_other_worries_than_its_batch() -> None:
    well = on_gpu(cases.gpu_series(30), 30)
    ill = dataclasses.replace(well, verdict=dataclasses.replace(well.verdict, cause=Cause.NAN_LOSS))
    assert (len(advised("larger_batch", well)), advised("larger_batch", ill)) == (1, [])


def test_a_fit_says_how_far_a_larger_batch_goes() -> None:
    advice = only("larger_batch", on_gpu(HALF_GPU, 40, told={"history": (earlier(4, 30),)}))
    assert advice.recommended_value == 16
    assert advice.predictions[0].after == 60 * GIB
    assert advice.evidence[-1].sentence == "2560.0 MiB a sample above 20480 MiB, fitted at batches of 4, 8"
    assert (
        advised("larger_batch", on_gpu(cases.gpu_series(55), 55, told={"history": (earlier(4, 30),)})) == []
    )
    assert advised("larger_batch", on_gpu(HALF_GPU, 40, {"batch_size": 0})) == []
    assert advised("larger_batch", on_gpu(FULL_GPU, 76)) == []


def test_a_batch_stays_within_the_fullest_of_several_gpus() -> None:
    series = [*cases.gpu_series(52), *cases.gpu_series(4, instance="GPU-1")]
    told = {"history": (earlier(4, 30),)}
    assert only("larger_batch", on_gpu(series, 56, told=told)).recommended_value == 10  # type: ignore[arg-type]
    full = [*cases.gpu_series(76), *cases.gpu_series(4, instance="GPU-1")]
    told = {"history": (earlier(4, 50),)}
    assert only("batch_size", on_gpu(full, 80, told=told)).recommended_value == 6  # type: ignore[arg-type]


def test_a_batch_leaves_a_neighbour_on_the_gpu_what_it_holds() -> None:
    told = {"history": (earlier(4, 22),)}
    assert only("batch_size", on_gpu(FULL_GPU, 38, told=told)).recommended_value == 6


def test_gpus_that_hold_nothing_can_be_filled() -> None:
    room = rooms.gpu(on_gpu(cases.gpu_series(0), 1))
    assert room is not None
    assert room.most_bytes == 80 * GIB


def test_eight_bits_are_not_added_to_four() -> None:
    both = {"quantization_config": {"load_in_8bit": False, "load_in_4bit": True}}
    assert advised("quantisation", on_gpu(FULL_GPU, 76, both)) == []
    command = ("python", "train.py", "--load_in_4bit", "true")
    assert advised("quantisation", on_gpu(FULL_GPU, 76, {"load_in_8bit": False}, command=command)) == []


@pytest.mark.parametrize("shape", [{"input_size": [3, 224, 224]}, {"imgsz": [640, 480]}])
def test_a_shape_is_not_cut_as_if_it_were_a_list_of_sides(shape: dict[str, object]) -> None:
    assert advised("resolution", on_gpu(TIGHT_GPU, 70, shape)) == []


def test_advice_on_short_memory_comes_in_the_order_of_the_design() -> None:
    crew = [cases.worker(1, 5, roles.MAIN), cases.worker(2, 2), cases.worker(3, 2)]
    case = in_host(9.5, cases.AI_TOOLKIT, processes=crew, status=Status.COMPLETED)
    said = [one.title for one in engine.examine(case.view, detectors={}).recommendations]
    assert said[:6] == [
        "Reduce worker count",
        "Enable quantization (qtype: qfloat8)",
        "Disable EMA (use_ema: false)",
        "Reduce max_batch_size to 2",
        "Enable gradient checkpointing",
        "Consider lower resolution",
    ]
