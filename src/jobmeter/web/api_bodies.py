"""Examples of what is sent, for the OpenAPI document; a test holds each against its schema."""

from typing import Any

BODIES: dict[str, Any] = {
    "addSilence": {
        "where": "project=llm",
        "seconds": 7200,
        "rules": ["memory-high"],
        "comment": "moving disks",
    },
    "applyAdvice": {"config": "train:\n  num_workers: 2\n", "format": "yaml", "only": ["num_workers"]},
    "changeRun": {
        "name": "baseline",
        "tags": {"team": "vision", "draft": None},
        "note": "the one to beat",
        "notes": {"lr was 3e-5": "lr was 3e-4", "to be looked at": None},
    },
}
