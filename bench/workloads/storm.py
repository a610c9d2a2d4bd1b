"""w1, fork storm: many processes that live 5 to 20 ms of CPU each, two at a time.

`--ignore-sigchld` lets the kernel reap the children, so that their CPU reaches no parent's rusage.
"""

import os
import signal
from functools import partial

import parts


def lifetime_seconds(index: int) -> float:
    """Give each child its own CPU time between 5 and 20 ms, the same in every run."""
    return (5 + index * 7919 % 16) / 1000


def main() -> None:
    """Fork, keep a few running, wait for all."""
    parser = parts.parser(__doc__)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--ignore-sigchld", action="store_true")
    args = parser.parse_args()
    if args.ignore_sigchld:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for first in range(0, args.count, args.parallel):
        batch = range(first, min(first + args.parallel, args.count))
        pids = [parts.fork(partial(parts.burn, lifetime_seconds(index))) for index in batch]
        for pid in pids:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                # with SIGCHLD ignored, waiting only blocks until no child is left
                continue
    parts.report(
        "storm", processes=args.count, asked_cpu_seconds=sum(map(lifetime_seconds, range(args.count)))
    )


if __name__ == "__main__":
    main()
