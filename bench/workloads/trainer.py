"""A stock Hugging Face Trainer on a small GPT-2, all of it told by a config: `trainer.py CONFIG.yaml FOLDER`.

`data` says what loading a sample costs: seconds of waiting, as for a distant disk; a long one now and then, as for a
new shard; memory that each process that loads keeps for itself.
"""

import sys
import time
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

from jobmeter.hooks.transformers import JobmeterCallback


class Sentences(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Random tokens, always the same, that take their time."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.kept: torch.Tensor | None = None
        shape = (data["samples"], data["length"])
        self.tokens = torch.randint(0, data["words"], shape, generator=torch.Generator().manual_seed(1))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        if self.kept is None and self.data["kept_mib"]:
            self.kept = torch.ones(self.data["kept_mib"] << 18)
        seconds = self.data["sample_seconds"]
        if self.data["slow_every"] and index % self.data["slow_every"] == 0:
            seconds = self.data["slow_seconds"]
        if seconds:
            time.sleep(seconds)
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


class InOrder(Trainer):
    """Takes samples in their order, so that slow ones come at a steady beat."""

    def _get_train_sampler(self, *_: Any) -> torch.utils.data.Sampler[int]:
        return torch.utils.data.SequentialSampler(self.train_dataset)


def main(path: str, folder: str) -> None:
    """Train as the config says."""
    config = yaml.safe_load(Path(path).read_text())
    torch.manual_seed(7)
    model = GPT2LMHeadModel(GPT2Config(**config["model"], bos_token_id=0, eos_token_id=0))
    arguments = TrainingArguments(
        output_dir=folder,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        logging_steps=5,
        disable_tqdm=True,
        **config["training"],
    )
    trainer = InOrder(
        model=model, args=arguments, train_dataset=Sentences(config["data"]), callbacks=[JobmeterCallback()]
    )
    trainer.train()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
