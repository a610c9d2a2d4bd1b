"""w6 and w6b: a child that daemonises (setsid, double fork) and burns CPU away from its parent.

The parent burns too and lives until the daemon is done; with `--orphan` it leaves at once and the daemon
outlives the command.
"""

import os

import parts


def main() -> None:
    """Start the daemon, burn, and wait for it or not."""
    parser = parts.parser(__doc__)
    parser.add_argument("--daemon-seconds", type=float, default=3.0)
    parser.add_argument("--parent-seconds", type=float, default=1.0)
    parser.add_argument("--orphan", action="store_true")
    args = parser.parse_args()
    done, tell_done = os.pipe()

    def daemon() -> None:
        os.setsid()
        parts.fork(lambda: parts.burn(args.daemon_seconds))

    pid = parts.fork(daemon)
    os.waitpid(pid, 0)
    os.close(tell_done)
    parts.burn(args.parent_seconds)
    if not args.orphan:
        # the daemon holds the other end open until it ends
        os.read(done, 1)
    parts.report("daemonise", asked_cpu_seconds=args.daemon_seconds + args.parent_seconds)


if __name__ == "__main__":
    main()
