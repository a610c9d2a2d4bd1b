"""A limit other than memory, time or disk: open files, processes and threads, CPU seconds, file size, locks, ports."""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of
from jobmeter.model.run import Value

WORDS = ("too many open files", "emfile", "enfile", "resource temporarily unavailable",
         "can't start new thread",
         "cannot fork", "fork failed", "unable to create native thread", "pthread_create",
         "cpu time limit exceeded",
         "file size limit exceeded", "too many processes", "no child processes", "received 0 items of ancdata",
         "cputime limit", "filesize limit", "eagain", "file-max limit", "inotify",
         "unable to create new native thread",
         "too many levels", "failed to create thread", "thread creation failed", "address already in use",
         "file too large", "unable to create thread", "term_threadlimit", "term_processlimit")  # fmt: skip
_KINDS: dict[str, "re.Pattern[str]"] = {
    "open_files": re.compile(
        r"[Tt]oo many open files|\bE[MN]FILE\b|received 0 items of ancdata|file-max limit \d+ reached"
    ),
    "processes": re.compile(
        r"fork\S*:? .{0,40}[Rr]esource temporarily unavailable|[Cc](?:annot|an't) fork|[Ff]ork failed"
        r"|can't start new thread|unable to create (?:new )?native thread|pthread_create\(?\)? ?(?:failed|: )"
        r"|(?:failed|[Uu]nable) to create (?:new )?(?:OS )?thread|[Tt]hread creation failed"
        r"|pthread_create failed"
        r"|BlockingIOError: \[Errno 11\] [Rr]esource temporarily unavailable"
        r"|\[Errno 11\] Resource temporarily unavailable"
        r"|TERM_(?:THREAD|PROCESS)LIMIT"
        r"|libgomp: Thread creation failed|retry: (?:No child processes|Resource temporarily unavailable)"
    ),
    "cpu_seconds": re.compile(r"CPU time limit exceeded|Cputime limit exceeded"),
    "file_size": re.compile(r"File ?size limit exceeded|\[Errno 27\] File too large"),
    "inotify": re.compile(r"inotify (?:watch|instance)\S* limit reached|inotify_\w+.{0,40}No space left"),
}


def read(passage: Passage) -> Sign | None:
    """Read that the system refused one more of something."""
    for kind, pattern in _KINDS.items():
        if pattern.search(passage.text):
            fields: dict[str, Value] = {"limit": kind}
            return Sign(
                type=type_of(passage, "resource_limit"),
                message=passage.text,
                fields=fields,
                level=level_of(passage),
                same=f"resource_limit {kind}",
            )
    return None
