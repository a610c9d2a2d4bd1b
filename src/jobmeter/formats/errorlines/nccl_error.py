"""Communication between ranks broke: NCCL, Gloo, MPI. Mostly it is what the other ranks see of one that died.

What misleads: `process group has NOT been destroyed` and other warnings at the end of a healthy run hold the
same words.
"""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of

WORDS = ("nccl error", "ncclunhandled", "ncclsystemerror", "ncclremoteerror", "ncclinternalerror",
         "ncclinvalidusage",
         "distbackenderror", "nccl communicator was aborted", "connection closed by peer",
         "connection reset by peer",
         "ncclunhandledcudaerror", "diststoreerror", "distnetworkerror", "mpi_abort", "broken pipe",
         "connection refused",
         "signalexception", "remotedisconnected", "nccl warn", "mpi job",
         "some nccl operations have failed", "nccl failure")  # fmt: skip
_SAID = re.compile(
    r"NCCL error|nccl(?:Unhandled(?:Cuda|System)|System|Remote|Internal|InvalidUsage)\w*Error|ncclRemoteError"
    r"|DistBackendError|DistStoreError|DistNetworkError|NCCL communicator was aborted"
    r"|Some NCCL operations have failed or timed out"
    r"|\[\S*gloo/\S*\] .{0,60}(?:Connection closed by peer|Connection reset by peer)"
    r"|(?:recvValue|sendBytes|recvBytes|recvVector) failed|MPI_ABORT was invoked"
    r"|SignalException: Process \d+ got signal|NCCL failure \S+:\d+"
)
_PEER = re.compile(
    r"NCCL WARN .{0,80}(?:Connection closed by remote peer|failed ?: (?:Broken pipe|Connection reset))"
)
"""NCCL has no level above WARN."""


def read(passage: Passage) -> Sign | None:
    """Read that the ranks lost one another."""
    if _PEER.search(passage.text) is not None:
        return Sign(type="nccl_error", message=passage.text, same="nccl_error")
    if _SAID.search(passage.text) is None or passage.level == "INFO":
        return None
    return Sign(
        type=type_of(passage, "nccl_error"), message=passage.text, level=level_of(passage), same="nccl_error"
    )
