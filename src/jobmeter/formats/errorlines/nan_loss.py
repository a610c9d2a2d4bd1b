"""The loss is not a number any more.

What misleads: `nan iterations: 0`, `step_avg:nanms`, a gradient norm of infinity while the loss scale
settles, and words that hold the letters. A row that shows a NaN is a warning, a program that stops for it is
an error.
"""

import re

from jobmeter.formats.errorlines.sign import ERROR, WARNING, Passage, Sign, type_of

WORDS = ("nan", "infinite or nan", "invalid loss", "finite")
_STOPPED = re.compile(
    r"[Ll]oss (?:is|became|was|went|turned|diverged to|has become) (?:infinite or |inf or )?(?:nan|NaN"
    r"|NAN|inf)\b"
    r"|returned nan values in its \d+th output|[Nn]a[Nn] (?:or [Ii]nf(?:inity)? )?(?:loss|in loss)\w*"
    r"|NanLoss|NaNLoss"
    r"|[Nn]a[Nn] (?:or [Ii]nf )?(?:was |were )?(?:found|detected|encountered) (?:in"
    r"|during) .{0,40}(?:loss|forward|grad|output|training)"
    r"|found NaN in (?:local )?(?:forward loss|grad)|[Ll]oss.{0,24} is (?:nan|NaN)\b"
    r"|Model diverged with loss = NaN"
    r"|loss .{0,20}(?:not finite|non-finite)|[Nn]on-?finite loss|[Ii]nvalid loss, terminating training"
    r"|Input contains NaN|contains NaN or infinity"
    r"|[Ee]ncountered NaN|NaNs? (?:in|detected)|AssertionError: .{0,60}\bnan\b"
    r"|probability tensor contains either .inf., .nan."
)
_ROW = re.compile(
    r"\b(?P<name>(?:[\w/@-]*[ _/])?loss\w*)[\"']?\s*(?:\([^)]*\)\s*)?[:=]?\s*(?:tensor\()?[\"']?"
    r"(?P<value>[-+]?(?:nan|NaN|NAN))\b(?!ms)"
)
_SCALE = re.compile(r"overflow|(?<![_a-z])loss[ _]scale|skipping (?:this )?step", re.IGNORECASE)
_CODE = re.compile(
    r"is_?nan\(|float\(|==|\bif\b|check_?nan|detect_?(?:anomaly|nan)|nan_to_num|terminate_?on_?nan|#", re.I
)


def read(passage: Passage) -> Sign | None:
    """Read a loss that is NaN."""
    text = passage.text
    if _SCALE.search(text) or (passage.exception is None and _CODE.search(text)):
        return None
    row = _ROW.search(text)
    if row is not None and passage.exception is None:
        metric = row["name"].strip().split()[-1]
        return Sign(
            type="nan_loss", message=text, fields={"metric": metric}, level=WARNING, same=f"nan {metric}"
        )
    if _STOPPED.search(text) is None and row is None:
        return None
    level = WARNING if passage.level in (WARNING, "INFO", "DEBUG") else ERROR
    return Sign(type=type_of(passage, "nan_loss"), message=text, level=level, same="nan stopped")
