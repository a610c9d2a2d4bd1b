"""w2, shared memory: processes that all map the same memory, so that a sum of RSS counts it many times.

`--by fork` writes private memory and forks (copy on write); `--by map` uses MAP_SHARED, which the kernel
counts as shmem, not as anonymous memory.
"""

import os

import parts


def main() -> None:
    """Fill the memory, fork, have every process map it, hold, end together."""
    parser = parts.parser(__doc__)
    parser.add_argument("--by", choices=("fork", "map"), default="fork")
    parser.add_argument("--size-mib", type=int, default=512)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    args = parser.parse_args()
    memory = parts.hold(args.size_mib * parts.MIB, shared=args.by == "map")
    released, release = os.pipe()

    def child() -> None:
        os.close(release)
        if args.by == "map":
            parts.touch(memory)
        os.read(released, 1)

    pids = [parts.fork(child) for _ in range(args.processes - 1)]
    parts.pause(args.seconds)
    os.close(release)
    for pid in pids:
        os.waitpid(pid, 0)
    parts.report("share", bytes=args.size_mib * parts.MIB, processes=args.processes)


if __name__ == "__main__":
    main()
