"""What tools say last when all went well; most jobs say nothing of the kind.

What misleads: `finished` stands after every epoch, and a suite that lists its failures finishes too. Only the
last lines of a log are asked, and only for words that speak of the whole job.
"""

import re

LOOKED_AT_BYTES = 4_096
_SAID = re.compile(
    rb"\btraining (?:is |has )?(?:complete|completed|finished|done|over)\b|\bfinished training\b"
    rb"|exits successfully|\bSTATUS: SUCCESS\b|\bBUILD SUCCESS|'train_runtime': "
    rb"|`Trainer\.fit` stopped: `max_(?:epochs|steps)=|\[after training is done\]"
    rb"|\b(?:job|run|script|pipeline|workflow|program|experiment)\b.{0,30}? (?:completed|finished|ended) successfully"
    rb"|\b(?:successfully (?:completed|finished)|completed successfully|finished successfully)\b|\ball done\b",
    re.IGNORECASE,
)
_PASSED = re.compile(
    rb"^Ran \d+ tests? in [\d.]+s\s+OK\b|^test result: ok\. \d+ passed"
    rb"|^=+ (?!.*\b(?:failed|errors?)\b)[1-9]\d* passed\b"
    rb"|^100% tests passed, 0 tests failed|^OK \(\d+ tests?\b",
    re.MULTILINE,
)
_FAILED = re.compile(rb"^test result: FAILED|^FAILED\b|^=+ .*\b[1-9]\d* (?:failed|errors?)\b", re.MULTILINE)
_NOT = re.compile(rb"(?:not|un|n't|never|before|until|when|after) ?$", re.IGNORECASE)


def shows_end(tail: bytes) -> bool:
    """Tell whether the last lines of a log say that its job came to its end."""
    looked_at = tail[-LOOKED_AT_BYTES:]
    return any(_NOT.search(looked_at, 0, said.start()) is None for said in _SAID.finditer(looked_at))


def pass_to_end_bytes(tail: bytes) -> int | None:
    """Say how far before the end tests are said to have passed: the errors before that were asked for."""
    looked_at = tail[-LOOKED_AT_BYTES:]
    passed = _PASSED.search(looked_at)
    return None if passed is None or _FAILED.search(looked_at) else len(looked_at) - passed.start()
