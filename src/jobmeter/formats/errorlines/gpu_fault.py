"""A GPU or its driver failed, or a kernel on it did: Xid, ECC, illegal access, a device that is not there."""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of
from jobmeter.model.run import Value

WORDS = ("nvrm: xid", "cuda error", "device-side assert", "illegal memory access", "fallen off the bus",
         "ecc error",
         "cudnn_status", "cublas_status", "no cuda gpus are available", "unknown error", "cuda_error",
         "cuda failure",
         "invalid device ordinal", "cuda driver", "hip error", "cudnn error", "unspecified launch failure",
         "cuda runtime error", "nvml", "assertion `", "assertion failed")  # fmt: skip
_SAID = re.compile(
    r"NVRM: Xid \(PCI:(?P<bus>[\w:.]+)\): (?P<xid>\d+)"
    r"|(?:CUDA|HIP) error(?: \d+)?: (?!out of memory)(?P<what>[\w ]+)|device-side assert triggered"
    r"|an illegal memory access was encountered"
    r"|GPU has fallen off the bus|fallen off the bus|uncorrectable ECC error"
    r"|CU(?:BLAS|DNN|SOLVER|SPARSE|FFT)_STATUS_(?!ALLOC_FAILED|SUCCESS)(?P<status>\w+)"
    r"|No CUDA GPUs are available|unspecified launch failure|cuDNN error: (?!.*ALLOC_FAILED)"
    r"|cuda runtime error \((?!2\))\d+\)|\.cu:\d+: .{0,200}Assertion `"
    r"|CUDA_ERROR_(?!OUT_OF_MEMORY|NO_DEVICE)(?P<driver>\w+)|CUDA driver version is insufficient"
)


def read(passage: Passage) -> Sign | None:
    """Read that a GPU failed."""
    said = _SAID.search(passage.text)
    if said is None or passage.level in ("INFO", "DEBUG"):
        return None
    fields: dict[str, Value] = {}
    if said["xid"]:
        fields = {"xid": int(said["xid"]), "bus": said["bus"]}
    what = said["what"] or said["status"] or said["driver"]
    if what:
        fields["error"] = what.strip()
    return Sign(
        type=type_of(passage, "gpu_fault"), message=passage.text, fields=fields, level=level_of(passage),
        same=f"gpu_fault {fields.get('xid', fields.get('error', ''))}",
    )  # fmt: skip
