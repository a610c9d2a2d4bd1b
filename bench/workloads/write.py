"""w5, bytes written: a file written in blocks of 1 MB, fsynced, and removed.

The bytes reach the device before the file goes, so nothing of them is cancelled.
"""

import os
import tempfile

import parts


def main() -> None:
    """Write, fsync, remove, linger."""
    parser = parts.parser(__doc__)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--after", type=float, default=1.2)
    args = parser.parse_args()
    block = os.urandom(1_000_000)
    descriptor, path = tempfile.mkstemp(dir=args.folder)
    try:
        for _ in range(args.megabytes):
            os.write(descriptor, block)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
        os.unlink(path)
    parts.pause(args.after)
    parts.report("write", bytes=args.megabytes * 1_000_000)


if __name__ == "__main__":
    main()
