"""A person stopped the job: Ctrl-C, or leaving a debugger."""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign, type_of

WORDS = ("keyboardinterrupt", "bdbquit", "interrupted by user", "aborted by user", "received sigint",
         "received sigint", "aborted!", "signal: interrupt", "attempting graceful shutdown",
         "cancelled by user",
         "canceled by user", "interrupted by the user", "interrupted!", "] interrupt")  # fmt: skip
_SAID = re.compile(
    r"(?:^|[\s:.])KeyboardInterrupt\b(?!\s*(?:\)|,|as\b|:?\s*pass|\())|bdb\.BdbQuit"
    r"|(?:[Ii]nterrupted|[Aa]borted|[Cc]ancell?ed) by (?:the )?[Uu]ser|[Rr]eceived (?:signal )?SIGINT"
    r"|^Aborted!$"
    r"|[Dd]etected KeyboardInterrupt|^\S*make(?:\[\d+\])?: \*\*\* .{1,200}\] Interrupt$"
)
_CODE = re.compile(r"\bexcept\b|\braise\b|press |ctrl", re.IGNORECASE)


def read(passage: Passage) -> Sign | None:
    """Read that somebody pressed Ctrl-C."""
    if _SAID.search(passage.text) is None or (passage.exception is None and _CODE.search(passage.text)):
        return None
    return Sign(type=type_of(passage, "interrupted"), message=passage.text, same="interrupted")
