"""Watch a command with resource-tracker, which is a library: INTERVAL CSV COMMAND...

Run by the interpreter of resource-tracker's own environment.
"""

import subprocess
import sys

from resource_tracker import ProcessTracker  # type: ignore[import-not-found]  # lives in its own environment


def main() -> int:
    """Start the command, track it until it ends, pass its exit code on."""
    interval, csv_path, *command = sys.argv[1:]
    job = subprocess.Popen(command)
    ProcessTracker(pid=job.pid, interval=float(interval), output_file=csv_path)
    return job.wait()


if __name__ == "__main__":
    sys.exit(main())
