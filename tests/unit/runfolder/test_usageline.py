"""One line of `usage.jsonl`, read back by the standard library."""

import json

from jobmeter.runfolder import usageline


def test_a_window_reads_back_as_it_was() -> None:
    line = usageline.encode(
        "2026-11-15T09:50:01.123Z",
        2,
        {"wait": (100.0, 101.25)},
        {
            ("wait_cputime", ""): 1.5,
            ("cgroup_mem_peak", ""): 734003200,
            ("proc_rss", "7@1"): 10,
            ("proc_rss", "8@1"): 20,
            ("proc_state", "7@1"): {"S": 2},
            ("proc_cmd", "7@1"): 'sh -c "x"\n',
        },
    )
    assert "\n" not in line
    assert json.loads(line) == {
        "timestamp": "2026-11-15T09:50:01.123Z",
        "num_samples": 2,
        "clock": {"wait": [100.0, 101.25]},
        "measurements": {
            "wait_cputime": 1.5,
            "cgroup_mem_peak": 734003200,
            "proc_rss": {"7@1": 10, "8@1": 20},
            "proc_state": {"7@1": {"S": 2}},
            "proc_cmd": {"7@1": 'sh -c "x"\n'},
        },
    }


def test_a_number_that_is_none_is_null() -> None:
    line = usageline.encode("t", 1, {}, {("host_load", ""): float("nan")})
    assert json.loads(line)["measurements"] == {"host_load": None}
