"""A job's config with the advice in it, for a page that fills in a new job: nothing is written or started."""

import json
import re

import msgspec

from jobmeter.errors import UsageError
from jobmeter.model.run import Run
from jobmeter.service import analysis, applying
from jobmeter.stores import Store

LONGEST_TEXT = 64 << 10
"""Comments and order are kept by a reader that takes a second for so much."""
FORMATS = {"batch_script": "job.sh", "json": "config.json", "toml": "config.toml", "yaml": "config.yaml"}
"""What a text may be, and a name that its editor is found by."""
_MOST_RULES = 50
_MOST_ALIASES = 20
_ALIAS = re.compile(r"(?<![^\s\[,{:-])\*[^\s,\]}]+")
"""YAML that refers to itself: a few lines of it can be a billion values."""


class Wish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change, and in what."""

    config: str | None = None
    """The text of the config; the one recorded with the run where there is none."""
    format: str | None = None
    """What that text is: `yaml`, `json`, `toml` or `batch_script`."""
    only: list[str] = []
    """The advice of these rules alone."""


def changed(store: Store, run: Run, job_id: str, wish: Wish) -> dict[str, object]:
    """Give the config of a job as its report advises it to be."""
    if len(wish.only) > _MOST_RULES:
        raise UsageError(f"{len(wish.only)} rules are too many", hint=f"name at most {_MOST_RULES}")
    name, text = _given(wish) if wish.config is not None else _recorded(run, wish)
    report = analysis.of_run(store, run)[1]
    made = applying.served(report, name, text, only=wish.only)
    config = made["config"] if wish.config is not None else json.loads(str(made["config"]))
    parts = {key: made[key] for key in ("applied", "skipped", "diff")}
    return {"job_id": job_id, "config": config, **parts}


def _given(wish: Wish) -> tuple[str, str]:
    text = wish.config or ""
    if not text.strip() or len(text) > LONGEST_TEXT:
        raise UsageError("the config is empty or too long", hint=f"send at most {LONGEST_TEXT} letters")
    if wish.format not in FORMATS:
        raise UsageError("the format of the config is not known", hint=f"say one of {', '.join(FORMATS)}")
    if wish.format == "yaml" and len(_ALIAS.findall(text)) > _MOST_ALIASES:
        raise UsageError("the config refers to itself too often", hint=f"use at most {_MOST_ALIASES} aliases")
    return FORMATS[wish.format], text


def _recorded(run: Run, wish: Wish) -> tuple[str, str]:
    if wish.format is not None:
        raise UsageError("there is a format without a config", hint="send both or neither")
    config = run.context.get("config")
    if not isinstance(config, dict) or not config:
        raise UsageError(
            f"no config was recorded with {run.run_id}", hint="send its text as `config`, and its `format`"
        )
    return FORMATS["json"], json.dumps(config, indent=2)
