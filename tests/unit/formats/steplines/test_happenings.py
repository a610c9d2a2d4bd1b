"""What a training log says happened beside its steps."""

import pytest

from jobmeter.formats.steplines import LogReader, happenings
from jobmeter.model.view import Event
from support import corpus

MIB = 1 << 20


def events(text: str, size: int = 1 << 20) -> list[Event]:
    """Read a text in portions, each byte arriving a second after the one before; a new reader for each portion."""
    data, found, state = text.encode(), [], None
    for start in range(0, len(data), size):
        reader = LogReader(state)
        begin = reader.consumed
        last = start + size >= len(data)
        reader.feed(data[begin : start + size], float, begin, final=last)
        found += reader.take()[1]
        state = reader.state()
    return found


def bar(words: str, position: int, total: int, postfix: str = "") -> str:
    return f"\r{words}:  50%|#####     | {position}/{total} [00:10<00:10,  1.22it/s{postfix}]"


TRAINING = ", lr: 1.0e-04 loss: 4.170e-02"


@pytest.mark.parametrize("size", [1 << 20, 50])
@pytest.mark.parametrize("words", ["Generating Images", "Generating Samples"])
def test_a_training_that_stops_to_draw_samples(words: str, size: int) -> None:
    text = bar("lora", 250, 500, TRAINING)
    text += "".join(bar(words, place, 4) for place in range(5))
    # a bar that stays is drawn once more when it ends
    text += bar(words, 4, 4) + "\n" + bar("lora", 251, 500, TRAINING) + "\n"
    found = events(text, size)
    assert [(event.type, event.details) for event in found] == [
        ("sampling_start", {"step": 250, "images": 4}),
        ("sampling_end", {"step": 250, "images": 4}),
    ]
    assert found[0].timestamp < found[1].timestamp


def test_samples_whose_last_drawing_was_wiped_end_when_training_goes_on() -> None:
    text = bar("lora", 250, 500, TRAINING) + bar("Generating Images", 0, 2) + bar("lora", 251, 500, TRAINING)
    assert [event.type for event in events(text)] == ["sampling_start", "sampling_end"]


def test_a_checkpoint_is_of_the_step_that_was_announced() -> None:
    text = bar("lora", 249, 500, TRAINING)
    text += "\n\nSaving at step 250\nSaved checkpoint to /out/lora/lora_000000250.safetensors\n"
    assert [(event.type, event.details) for event in events(text)] == [
        ("checkpoint_saved", {"step": 250, "path": "/out/lora/lora_000000250.safetensors"})
    ]


@pytest.mark.parametrize(
    ("line", "details"),
    [
        ("saving checkpoint to out-shakespeare", {"path": "out-shakespeare"}),
        ("Saving model checkpoint to ./results/checkpoint-500", {"path": "./results/checkpoint-500"}),
        (
            "  successfully saved checkpoint at iteration   1000 to /ckpt/gpt",
            {"path": "/ckpt/gpt", "step": 1000},
        ),
    ],
)
def test_other_tools_say_it_their_way(line: str, details: dict[str, object]) -> None:
    assert happenings.parse(line) == happenings.Happening(
        "checkpoint_saved", details, about=str(details["path"])
    )


@pytest.mark.parametrize(
    ("line", "details"),
    [
        ("Decreasing batch size to: 4.", {"batch_size": 4}),
        ("Reducing batch size from 8 to 4", {"batch_size": 4, "from": 8}),
        ("Increasing the train batch_size -> 16", {"batch_size": 16}),
        ("batch size reduced from 8 to 6", {"batch_size": 6, "from": 8}),
        ("Batch size: 4 -> 2", {"batch_size": 2, "from": 4}),
        ("Batch size 16 failed, trying batch size 8", {"batch_size": 8, "from": 16}),
    ],
)
def test_another_batch_size_is_told(line: str, details: dict[str, object]) -> None:
    assert [(event.type, event.details) for event in events(line + "\n")] == [("batch_size_changed", details)]


@pytest.mark.parametrize(
    "line",
    [
        "batch size: 16",
        "We believe it is unlikely to work well for training with small batch size.",
        "Lower num_workers to avoid CUDA out of memory errors",
        "ran out of memory for words",
        "loading checkpoint to resume from",
    ],
)
def test_a_setting_or_a_hint_is_no_event(line: str) -> None:
    assert events(line + "\n") == []


def test_a_skipped_batch_counts_each_time() -> None:
    text = bar("lora", 7, 500, TRAINING)
    text += "".join(f"\n####\n# OOM during training step, skipping batch {n}/3 #\n####\n" for n in (1, 2))
    assert [(event.type, event.details) for event in events(text)] == [
        ("oom", {"step": 7, "skipped_batches": 1}),
        ("oom", {"step": 7, "skipped_batches": 2}),
    ]


OLD = (
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.78 GiB total capacity; "
    "1.72 GiB already allocated; 3.19 MiB free)"
)
NEW = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of "
    "79.19 GiB of which 41.50 MiB is free."
)


@pytest.mark.parametrize(
    ("text", "details"),
    [
        (
            OLD,
            {
                "device": "cuda",
                "gpu": 0,
                "wanted_bytes": 20 * MIB,
                "capacity_bytes": round(15.78 * 1024 * MIB),
            },
        ),
        (
            NEW,
            {
                "device": "cuda",
                "gpu": 1,
                "wanted_bytes": 2048 * MIB,
                "capacity_bytes": round(79.19 * 1024 * MIB),
            },
        ),
        ("RuntimeError: CUDA error: out of memory", {"device": "cuda"}),
        ("RuntimeError: MPS backend out of memory (MPS allocated: 9.05 GB)", {"device": "mps"}),
    ],
)
def test_memory_of_a_device_that_ran_out(text: str, details: dict[str, object]) -> None:
    assert [(event.type, event.details) for event in events(text + "\n")] == [("oom", details)]


def test_one_failure_that_every_rank_prints_is_told_once() -> None:
    text = bar("train", 3, 9, TRAINING) + "\n" + "".join(f"[rank{rank}]: {NEW}\n" for rank in range(5))
    found = events(text)
    assert [(event.type, event.rank) for event in found] == [("oom", 0)]


def test_fatal_text_glued_to_a_bar_is_found() -> None:
    assert [event.type for event in events(bar("train", 3, 9, TRAINING) + NEW + "\n")] == ["oom"]


@pytest.mark.parametrize(
    "name",
    ["lcnllama_train.err", "leanagent_32_oom.txt", "longnd_abci_oom_old.o9077920", "tnnform_oom_1.log"],
)
def test_every_real_failure_is_told_exactly_once(name: str) -> None:
    text = (corpus.folder("log-cuda-oom") / name).read_bytes().decode("utf-8", "replace")
    assert [event.type for event in events(text) if event.type == "oom"] == ["oom"]


def test_a_bar_with_a_learning_rate_is_training_whatever_the_run_is_called() -> None:
    reader = LogReader()
    text = bar("test_lora", 7, 500, TRAINING)
    reader.feed(text.encode(), float, 0, final=True)
    assert [(step.step, step.metrics["loss"]) for step in reader.take()[0]] == [(7, 0.0417)]
