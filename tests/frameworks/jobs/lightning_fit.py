"""A Lightning fit of a line: `lightning_fit.py FOLDER [logger|tqdm]`; its own log is always a CSVLogger's.

`tqdm` asks for the bar Lightning draws where rich is not installed."""

import sys

import lightning
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger, Logger


class Line(lightning.LightningModule):
    """Learn y = 2x, and say loss, rate and throughput at every step, in the log and on the bar."""

    def __init__(self, rate: float = 0.05) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch: list[torch.Tensor], number: int) -> torch.Tensor:
        inputs, targets = batch
        loss = torch.nn.functional.mse_loss(self.layer(inputs), targets)
        rate = self.optimizers().param_groups[0]["lr"]
        values = {"train_loss": loss, "lr": rate, "samples_per_second": 100.0 + number}
        self.log_dict(values, prog_bar=True)
        return loss

    def validation_step(self, batch: list[torch.Tensor], number: int) -> None:
        inputs, targets = batch
        self.log("val_loss", torch.nn.functional.mse_loss(self.layer(inputs), targets), prog_bar=True)

    def configure_optimizers(self) -> dict[str, object]:
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams["rate"])
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=16)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def main(folder: str, reporting: str) -> None:
    """Fit 2 epochs of 8 batches, logging every step."""
    loggers: list[Logger] = [CSVLogger(folder, name="own")]
    callbacks: list[Callback] = [ModelCheckpoint(dirpath=f"{folder}/checkpoints", save_top_k=1)]
    if reporting == "logger":
        from jobmeter.hooks.lightning import JobmeterCallback, JobmeterLogger

        loggers.append(JobmeterLogger())
        callbacks.append(JobmeterCallback())
    elif reporting == "tqdm":
        callbacks.append(TQDMProgressBar())
    lightning.seed_everything(7, verbose=False)
    inputs = torch.randn(32, 4)
    samples = torch.utils.data.TensorDataset(inputs, 2 * inputs.sum(1, keepdim=True))
    loader = torch.utils.data.DataLoader(samples, batch_size=4)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=2,
        log_every_n_steps=1,
        logger=loggers,
        callbacks=callbacks,
        default_root_dir=folder,
        enable_model_summary=False,
    )
    trainer.fit(Line(), loader, torch.utils.data.DataLoader(samples, batch_size=16))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "nothing")
