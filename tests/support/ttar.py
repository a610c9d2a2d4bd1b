"""Read the text archives Prometheus keeps its fixtures in: `Path:`, `Lines:` and so many lines."""

from pathlib import Path


def read(archive: Path) -> dict[str, str]:
    """Map every regular file of an archive to its text."""
    files: dict[str, str] = {}
    lines = iter(archive.read_text().split("\n"))
    path = ""
    for line in lines:
        if line.startswith("Path: "):
            path = line.removeprefix("Path: ")
        elif line.startswith("Lines: "):
            files[path] = _restored([next(lines) for _ in range(int(line.removeprefix("Lines: ")))])
    return files


def _restored(lines: list[str]) -> str:
    # a file without a final newline ends in EOF, zero bytes are spelt out
    text = "\n".join(lines)
    text = text.removesuffix("EOF") if text.endswith("EOF") else f"{text}\n"
    return text.replace("NULLBYTE", "\0")
