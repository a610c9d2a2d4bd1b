"""The first start from a fresh clone: quiet when it works, and pip's own words when it does not."""

import hashlib
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def wheel(folder: Path) -> str:
    """Make a package of one empty module; give its hash."""
    folder.mkdir()
    path = folder / "tiny_package-1.0-py3-none-any.whl"
    about = "tiny_package-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_package.py", "")
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-package\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay out what the script needs of a clone, with a lock that wants one package."""
    clone = tmp_path_factory.mktemp("clone")
    for name in ("scripts", "requirements", "src"):
        (clone / name).mkdir()
    shutil.copy(ROOT / "scripts" / "bootstrap", clone / "scripts")
    digest = wheel(clone / "wheels")
    (clone / "requirements" / "run.txt").write_text(f"tiny-package==1.0 --hash=sha256:{digest}\n")
    return clone


def bootstrap(clone: Path) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    # a place that is not there makes pip warn
    places = {
        "PIP_FIND_LINKS": f"{clone}/nowhere {clone}/wheels",
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }
    words = [clone / "scripts" / "bootstrap", "run"]
    return subprocess.run(words, env=kept | places, capture_output=True, text=True)


def test_an_environment_is_made_without_a_word_of_pips(clone: Path) -> None:
    done = bootstrap(clone)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "jobmeter: setting up .venv (once)\n")
    assert os.access(clone / ".venv" / "bin" / "jobmeter", os.X_OK)
    assert (bootstrap(clone).returncode, bootstrap(clone).stderr) == (0, "")


def test_what_cannot_be_installed_is_told_in_pips_words(clone: Path) -> None:
    lock = clone / "requirements" / "run.txt"
    lock.write_text(f"tiny-package==2.0 --hash=sha256:{'0' * 64}\n")
    done = bootstrap(clone)
    assert done.returncode == 125
    assert "No matching distribution found for tiny-package==2.0" in done.stderr
    assert "nowhere" in done.stderr  # all that pip warned of may be why
    assert done.stderr.endswith("jobmeter: the packages of requirements/run.txt could not be installed\n")
