"""What campaigns say: an error in a line, and the DEBUG lines, word for word as their readers grep for them."""

import json
import sys
from collections.abc import Callable, Mapping

from jobmeter.config import redaction

Debug = Callable[[str], None]
_MARKERS = ("ERROR:", "Error:", "FAILED:", "Failed:", "TIMEOUT:", "Timeout:", "Exception:")
_ID_LETTERS = 12
UNKNOWN = "Unknown error"


def concise(message: str, letters: int) -> str:
    """Shorten an error to the sentence of its first line; secrets are cut out."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    sentence = redaction.redact_text(lines[0]) if lines else UNKNOWN
    for marker in _MARKERS:
        _, found, after = sentence.partition(marker)
        if found and after.strip():
            sentence = after.strip()
            break
    return sentence if len(sentence) <= letters else sentence[: letters - 3] + "..."


def silent(_line: str) -> None:
    """Say nothing."""


def to_stderr(line: str) -> None:
    """Write one DEBUG line."""
    print(f"DEBUG: {line}", file=sys.stderr)


def say_fetching(debug: Debug, build_id: str, region: str) -> None:
    """Announce that Cloud Build is asked."""
    debug(f"Fetching CloudBuild metrics for {build_id[:_ID_LETTERS]}... (region: {region})")


def say_fetched(debug: Debug, metrics: Mapping[str, object]) -> None:
    """Say what Cloud Build answered."""
    queue, working = metrics.get("queue_wait_seconds"), metrics.get("working_seconds")
    debug(f" CloudBuild metrics fetched! Queue: {queue}s, Working: {working}s")
    debug(f"CLOUDBUILD_METRICS_JSON: {json.dumps(redaction.redact_tree(dict(metrics)), indent=2)}")


def say_parsing(debug: Debug, build_id: str) -> None:
    """Announce that a log is searched."""
    debug(f"Parsing resource stats from logs for {build_id[:_ID_LETTERS]}...")


def say_parsed(debug: Debug, metrics: Mapping[str, object]) -> None:
    """Say what a log held."""
    average, peak = metrics["cpu_utilization_avg"], metrics["memory_used_peak_gb"]
    anomalies, score = metrics["anomalies"], metrics["consistency_score"]
    debug("Found BUILD_STATS_JSON markers in logs! Parsing...")
    debug(f"Parsed {metrics['sample_count']} resource samples from logs")
    debug(f" Resource metrics parsed! CPU avg: {average}%, Memory peak: {peak}GB")
    debug(f"RESOURCE_METRICS_JSON: {json.dumps(metrics, indent=2)}")
    if isinstance(anomalies, dict) and isinstance(score, dict):
        debug(f"Detected {len(anomalies['spikes'])} spikes and {len(anomalies['troughs'])} troughs")
        debug(f"Overall consistency score: {score['overall']}")
