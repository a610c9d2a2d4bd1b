"""Files of other tools, written by a test and read by the format that recognises them."""

from pathlib import Path

from jobmeter import formats
from jobmeter.model.imported import Imported
from jobmeter.model.run import Run


def written(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    """Write a file and say where."""
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def read(path: Path, format_name: str) -> list[Imported]:
    """Read a file that must be recognised."""
    assert formats.recognise(path) == format_name
    return list(formats.load(format_name).parse(path))


def only(path: Path, format_name: str) -> Run:
    """Read a file that holds one run."""
    (found,) = read(path, format_name)
    return found.run
