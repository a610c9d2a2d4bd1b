"""w7, many idle processes: nothing happens, so all CPU spent is the watcher's."""

import os
import signal

import parts


def main() -> None:
    """Fork sleepers, wait, end them."""
    parser = parts.parser(__doc__)
    parser.add_argument("--processes", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0)
    args = parser.parse_args()
    pids = [parts.fork(signal.pause) for _ in range(args.processes - 1)]
    parts.pause(args.seconds)
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    for pid in pids:
        os.waitpid(pid, 0)
    parts.report("idle", processes=args.processes)


if __name__ == "__main__":
    main()
