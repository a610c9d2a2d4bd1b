"""w4, two busy threads (or processes), each for the same number of CPU-seconds."""

import os
from threading import Thread

import parts


def main() -> None:
    """Burn in parallel and wait for all."""
    parser = parts.parser(__doc__)
    parser.add_argument("--by", choices=("threads", "processes"), default="threads")
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()
    if args.by == "threads":
        threads = [Thread(target=parts.burn, args=(args.seconds,)) for _ in range(args.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        for pid in [parts.fork(lambda: parts.burn(args.seconds)) for _ in range(args.count)]:
            os.waitpid(pid, 0)
    parts.report("busy", asked_cpu_seconds=args.count * args.seconds)


if __name__ == "__main__":
    main()
