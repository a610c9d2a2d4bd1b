"""Which devices a list in the environment means, as CUDA reads it."""

import os

import pytest

from jobmeter.probes import visibledevices

A, B, M = "GPU-aaaa1111-2222", "GPU-aabb1111-2222", "MIG-cccc1111-2222"
DEVICES = [(A, "0"), (B, "1"), (M, "1:0")]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("0", [A]),
        ("1,0", [B, A]),
        ("0, 1", [A, B]),
        ("", []),
        ("-1", []),
        ("0,-1,1", [A]),
        ("0,7,1", [A]),
        ("0,0", [A]),
        ("GPU-aaaa1111-2222", [A]),
        ("GPU-aab", [B]),
        ("gpu-aab", []),
        ("GPU-aa", []),
        ("MIG-cccc1111-2222", [M]),
        ("NoDevFiles", []),
        ("void", []),
    ],
)
def test_a_list_means_what_cuda_takes_it_for(text: str, meant: list[str]) -> None:
    assert visibledevices.chosen(text, DEVICES) == meant


def test_variables_are_found_wherever_they_stand() -> None:
    environ = b"CUDA_VISIBLE_DEVICES=1\0XCUDA_VISIBLE_DEVICES=2\0EMPTY=\0"
    names = ("CUDA_VISIBLE_DEVICES", "EMPTY", "ABSENT")
    assert visibledevices.parse(environ, names) == {"CUDA_VISIBLE_DEVICES": "1", "EMPTY": ""}
    assert visibledevices.parse(b"A=1\0CUDA_VISIBLE_DEVICES=0,1\0", names) == {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert visibledevices.parse(b"XCUDA_VISIBLE_DEVICES=2\0", names) == {}


def test_a_process_is_asked_for_what_it_was_started_with() -> None:
    assert visibledevices.of_process("/proc", os.getpid(), ("PATH",)) is not None
    assert visibledevices.of_process("/proc", 4_194_303, ("PATH",)) is None
