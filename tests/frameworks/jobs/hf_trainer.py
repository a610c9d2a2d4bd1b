"""A stock Hugging Face Trainer on a tiny GPT-2: `hf_trainer.py FOLDER [callback|report_to]`."""

import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


class Sentences(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Random tokens, always the same."""

    def __init__(self, count: int, seed: int) -> None:
        self.tokens = torch.randint(0, 64, (count, 16), generator=torch.Generator().manual_seed(seed))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        time.sleep(0.01)  # as from a disk: a training shorter than the recorder's own pauses has no speed
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def main(folder: str, reporting: str) -> None:
    """Train 12 steps of 4 sentences; log every 3, evaluate and save every 6."""
    callbacks: list[TrainerCallback] = []
    report_to = "none"
    if reporting == "callback":
        from jobmeter.hooks.transformers import JobmeterCallback

        callbacks.append(JobmeterCallback())
    elif reporting == "report_to":
        from jobmeter.hooks import transformers as hook

        hook.register()
        report_to = "jobmeter"
    torch.manual_seed(7)
    config = GPT2Config(
        vocab_size=64, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=12,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        logging_steps=3,
        eval_strategy="steps",
        eval_steps=6,
        save_steps=6,
        load_best_model_at_end=True,
        use_cpu=True,
        dataloader_pin_memory=False,
        report_to=report_to,
        run_name="tiny",
    )
    trainer = Trainer(
        model=GPT2LMHeadModel(config),
        args=arguments,
        train_dataset=Sentences(64, seed=1),
        eval_dataset=Sentences(8, seed=2),
        callbacks=callbacks,
    )
    trainer.train()
    trainer.save_state()
    trainer.predict(Sentences(8, seed=3))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "nothing")
