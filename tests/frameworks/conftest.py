"""Train small models with the real frameworks under the real recorder, once per kind of training."""

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from support.frameworks import Training
from support.recorder import Home

JOBS = Path(__file__).parent / "jobs"
Train = Callable[..., Training]


@pytest.fixture(scope="session")
def train(tmp_path_factory: pytest.TempPathFactory) -> Train:
    """Give a function that runs a job of `jobs/` under `jobmeter run`, the same one only once."""

    @cache
    def run(job: str, *words: str, launcher: tuple[str, ...] = (sys.executable,)) -> Training:
        folder = tmp_path_factory.mktemp(job)
        home = Home(folder / "home")
        output = folder / "output"
        output.mkdir()
        offline = {"HF_HUB_OFFLINE": "1", "KERAS_BACKEND": "torch", "OMP_NUM_THREADS": "1"}
        env = home.environ(**offline, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        command = [*launcher, str(JOBS / f"{job}.py"), str(output), *words]
        finished = home.run("--", *command, env=env, cwd=folder, seconds=100)
        assert finished.code == 0, finished.stderr.decode()
        return Training(output=output, finished=finished)

    return run
