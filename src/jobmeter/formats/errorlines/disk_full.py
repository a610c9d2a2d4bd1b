"""A file system had no room left, or the user's quota on it was used up."""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of
from jobmeter.model.run import Value

WORDS = ("no space left", "quota exceeded", "filesystemquotaexceeded", "enospc", "edquot", "disk full",
         "disk is full",
         "not enough disk space", "insufficient disk space", "out of disk space", "disk quota",
         "not enough free disk",
         "write failed")  # fmt: skip
_SAID = re.compile(
    r"[Nn]o space left on (?:the )?device|\bENOSPC\b|[Dd]isk quota exceeded|\bEDQUOT\b|FilesystemQuotaExceeded"
    r"|(?:database or )?disk is full|[Dd]isk full\b|[Oo]ut of disk space|(?:[Nn]ot enough"
    r"|[Ii]nsufficient) (?:free )?disk space"
    r"|iostream error|unexpected pos \d+ vs \d+|PytorchStreamWriter failed writing file"
)
_PATH = re.compile(
    r"(?:device|exceeded|directory)\W{1,3}[\"'](?P<quoted>/[^\"']+)[\"']|(?:writing|open"
    r"|write)\W{1,3}[\"'](?P<wrote>[^\"']+)[\"']"
)
_WARNED = re.compile(r"\b(?:may|might|could|if|avoid|prevent)\b", re.IGNORECASE)


def read(passage: Passage) -> Sign | None:
    """Read that nothing more could be written."""
    said = _SAID.search(passage.text)
    if said is None or (passage.exception is None and _WARNED.search(passage.text, 0, said.start())):
        return None
    fields: dict[str, Value] = {}
    path = _PATH.search(passage.text)
    if path is not None:
        fields["path"] = path["quoted"] or path["wrote"]
    if "uota" in said[0] or said[0] == "EDQUOT":
        fields["quota"] = 1
    return Sign(
        type=type_of(passage, "disk_full"),
        message=passage.text,
        fields=fields,
        level=level_of(passage),
        same="disk_full",
    )
