"""Ask Google's own tool for a build's log and description; only where a person asked to.

The tool runs with its own login and its own time limit. What it cannot tell is None: a campaign is kept all the same.
"""

import re
import subprocess

from jobmeter.formats import loose_json

_LOG_SECONDS, _DESCRIBE_SECONDS = 120, 30
_BUILD_ID = re.compile(r"[A-Za-z0-9][\w-]{0,100}")


def read_log(build_id: str, region: str) -> str | None:
    """Fetch the log of a build."""
    return _ask(["log", build_id, f"--region={region}"], _LOG_SECONDS) if is_build_id(build_id) else None


def describe(build_id: str, region: str) -> dict[str, object] | None:
    """Fetch the description of a build."""
    words = ["describe", build_id, f"--region={region}", "--format=json"]
    text = _ask(words, _DESCRIBE_SECONDS) if is_build_id(build_id) else None
    return None if text is None else loose_json.parse_object(text)


def is_build_id(text: str) -> bool:
    """Tell an id from an option or worse."""
    return _BUILD_ID.fullmatch(text) is not None


def _ask(words: list[str], seconds: float) -> str | None:
    try:
        done = subprocess.run(
            ["gcloud", "builds", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
