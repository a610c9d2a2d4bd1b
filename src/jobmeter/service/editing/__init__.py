"""Settings changed in files that people wrote: everything else stays as it is, byte for byte where the format allows.

An editor is a module with `change(text, path, value)`; it gives the whole new text, or raises `NotThereError` where
the file has no place for the setting.
"""

from importlib import import_module
from pathlib import Path
from typing import Protocol

from jobmeter.errors import UsageError


class NotThereError(Exception):
    """The file has no place for a setting; the text says why."""


class Editor(Protocol):
    """A module in this folder."""

    def change(self, text: str, path: str, value: object) -> str:
        """Give the text with one setting changed."""


EDITORS: dict[str, str] = {
    ".json": "jobmeter.service.editing.json_text",
    ".toml": "jobmeter.service.editing.toml_text",
    ".yaml": "jobmeter.service.editing.yaml_text",
    ".yml": "jobmeter.service.editing.yaml_text",
}
"""By how the file's name ends."""
_SCRIPT = "jobmeter.service.editing.batch_script"
_SCRIPT_SUFFIXES = (".sh", ".bash", ".sbatch", ".slurm", ".job")


def editor_for(path: Path, text: str) -> Editor:
    """Choose who can change a file."""
    known = EDITORS.get(path.suffix.lower())
    if known is None and (
        path.suffix.lower() in _SCRIPT_SUFFIXES or text.startswith("#!") or "#SBATCH" in text
    ):
        known = _SCRIPT
    if known is None:
        raise UsageError(
            f"{path} is no config jobmeter can change",
            hint=f"give a file that ends in {', '.join(EDITORS)}, or a batch script",
        )
    module: Editor = import_module(known)
    return module
