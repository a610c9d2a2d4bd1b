"""w3 and w3b, memory spike: one process, or several at once, fill memory, hold it briefly, give it back.

With `--processes 1` the script itself spikes and lives on; with more, children do, and end with their spike.
"""

import os

import parts


def spike(size_bytes: int, seconds: float) -> None:
    """Fill memory, hold it, give it back."""
    memory = parts.hold(size_bytes)
    parts.pause(seconds)
    memory.close()


def together(size_bytes: int, seconds: float, processes: int) -> None:
    """Let children fill their memory, and hold it from when the last one is full."""
    ready, tell_ready = os.pipe()
    go, tell_go = os.pipe()

    def child() -> None:
        os.close(tell_go)
        memory = parts.hold(size_bytes)
        os.write(tell_ready, b".")
        os.read(go, 1)
        memory.close()

    pids = [parts.fork(child) for _ in range(processes)]
    for _ in pids:
        os.read(ready, 1)
    parts.pause(seconds)
    os.close(tell_go)
    for pid in pids:
        os.waitpid(pid, 0)


def main() -> None:
    """Idle, spike, idle."""
    parser = parts.parser(__doc__)
    parser.add_argument("--size-mib", type=int, default=1536)
    parser.add_argument("--seconds", type=float, default=0.15)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--before", type=float, default=1.3)
    parser.add_argument("--after", type=float, default=1.2)
    args = parser.parse_args()
    parts.pause(args.before)
    if args.processes == 1:
        spike(args.size_mib * parts.MIB, args.seconds)
    else:
        together(args.size_mib * parts.MIB, args.seconds, args.processes)
    parts.pause(args.after)
    parts.report("spike", bytes=args.size_mib * parts.MIB * args.processes, processes=args.processes)


if __name__ == "__main__":
    main()
