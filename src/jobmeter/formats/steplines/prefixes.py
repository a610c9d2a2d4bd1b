"""What launchers put before every line: the rank, and words that say nothing of the job.

The number before the colon of `srun -l` and the number of torchrun's `[default0]:` are ranks only because a
step follows; a line that is no step never gets here.
"""

import re

_RANKS = re.compile(
    r"\s*(?:"
    r"\[(?:rank|RANK|Rank)[ :=]?(?P<rank>\d{1,6})\]:?"  # torch's own messages, Megatron, DeepSpeed
    r"|\[\d+,(?P<mpi>\d{1,6})\]<std(?:out|err)>:?"  # mpirun --tag-output, horovodrun
    r"|\[(?:default|trainer|worker|train)(?P<torchrun>\d{1,6})\]:"  # torchrun --tee
    r"|[Rr]ank[ =]?(?P<word>\d{1,6})[:|]"
    r"|(?P<srun>\d{1,5}): (?!-?[\d.nai]+, -?[\d.nai]+ avg)"  # srun -l; darknet begins its lines with the step
    r")\s*"
)
_FIRST = "[Rr"
"""With one of these, or a digit, every launcher's prefix begins."""
_WITHIN = re.compile(r"\[[Rr]ank[ -](?P<rank>\d{1,6})(?:/\d+)?\]")
_NOISE = re.compile(
    r"(?:Step #\d+(?: - \"[^\"]*\")?: ?"  # Cloud Build
    r"|#\d+ \d+\.\d+ "  # BuildKit
    r"|\((?:\w+ )?pid=\d+(?:, ip=[\d.]+)?\) "  # Ray
    r")"
)


def split(text: str) -> tuple[int | None, str]:
    """Cut a launcher's prefix off a line and read the rank from it."""
    if text[:1] in "S#(":
        noise = _NOISE.match(text)
        text = text[noise.end() :] if noise else text
    first = text.lstrip()[:1]
    found = _RANKS.match(text) if first in _FIRST or first.isdecimal() else None
    if found is not None:
        rank = next(value for value in found.groups() if value is not None)
        return int(rank), text[found.end() :]
    within = _WITHIN.search(text, 0, 160) if "ank" in text[:160] else None
    return (int(within["rank"]) if within else None), text
