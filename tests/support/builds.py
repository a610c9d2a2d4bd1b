"""The build 84fbeb34 as its log tells it: 21 samples, memory from 52 to 137 GB at the tenth, CPU from 42 to 58 %."""

import json
from pathlib import Path

Sample = dict[str, object]

BUILD_ID = "84fbeb34-2761-4d3c-9a1e-1f2e3d4c5b6a"
CPU = (0, 6, 8, 10, 13, 16, 20, 26, 33, 42, 42, 42, 58, 57, 57, 56, 50, 52, 48, 44, 40)
MEMORY_GB = (1, 13, 18, 24, 30, 36, 41, 45, 48, 52, 137, 130, 125, 120, 118, 115, 110, 108, 105, 100, 98)


def sample(minute: int, cpu: float, memory_gb: float) -> Sample:
    """Build one sample, a minute apart from the next; disks write 7,000 MB a minute."""
    return {
        "ts": f"2025-11-14T03:{10 + minute:02d}:14+00:00",
        "cpu": cpu,
        "mem_used_gb": memory_gb,
        "mem_total_gb": 692,
        "io_read_mb": 1386,
        "io_write_mb": 43758 + 7000 * minute,
    }


def samples() -> list[Sample]:
    """Give the samples of the build."""
    return [sample(minute, *pair) for minute, pair in enumerate(zip(CPU, MEMORY_GB, strict=True))]


def block(found: object, prefix: str = "") -> str:
    """Print samples as the step of a build does, with what a builder puts before every line."""
    lines = ["BUILD_STATS_JSON_START", json.dumps(found), "BUILD_STATS_JSON_END"]
    return "".join(f"{prefix}{line}\n" for line in lines)


def cloud_build_log(found: object = None, *, build_id: str = BUILD_ID, status: str = "SUCCESS") -> str:
    """Write the log of `gcloud builds submit`: BuildKit within a step, the command echoed before it ran."""
    told = {"samples": samples()} if found is None else found
    step = 'Step #0 - "pytorch": '
    command = 'echo "BUILD_STATS_JSON_START" && cat /build-stats.json && echo "BUILD_STATS_JSON_END"'
    echoed = f"{step}#30 [26/30] RUN {command}\n"
    return (
        "\ufeffCreated [https://cloudbuild.googleapis.com/v1/projects/p/locations/us-west2/builds/x].\n"
        f'starting build "{build_id}"\n\nFETCHSOURCE\nBUILD\nStarting Step #0 - "pytorch"\n'
        + "".join(f"{step}#9 {second}.1 [ 12%] Building CXX object\n" for second in range(200))
        + echoed
        + block(told, f"{step}#30 0.312 ")
        + 'Finished Step #0 - "pytorch"\nPUSH\nDONE\n'
        + f"ID: {build_id}\nCREATE_TIME: 2025-11-14T02:58:00+00:00\nDURATION: 21M05S\nSTATUS: {status}\n"
    )


def description(build_id: str = BUILD_ID, status: str = "SUCCESS", **more: object) -> dict[str, object]:
    """Describe a build as `gcloud builds describe --format=json` does: 645 s in the queue, 628 s at work."""
    return {
        "createTime": "2025-11-14T02:58:00.123456789Z",
        "startTime": "2025-11-14T03:08:45.923456789Z",
        "finishTime": "2025-11-14T03:19:14.123456789Z",
        "id": build_id,
        "name": f"projects/12345/locations/us-west2/builds/{build_id}",
        "logUrl": f"https://console.cloud.google.com/cloud-build/builds;region=us-west2/{build_id}?project=12345",
        "logsBucket": "gs://12345.cloudbuild-logs.googleusercontent.com",
        "options": {
            "pool": {"name": "projects/p/locations/us-west2/workerPools/pytorch"},
            "machineType": "E2_HIGHCPU_8",
        },
        "status": status,
        "steps": [{"name": "gcr.io/cloud-builders/docker", "status": "SUCCESS"}],
        "timing": {
            "FETCHSOURCE": {"startTime": "2025-11-14T03:08:46Z", "endTime": "2025-11-14T03:08:58Z"},
            "BUILD": {"startTime": "2025-11-14T03:08:58Z", "endTime": "2025-11-14T03:18:10Z"},
            "PUSH": {"startTime": "2025-11-14T03:18:10Z", "endTime": "2025-11-14T03:19:12Z"},
        },
    } | more


def written(folder: Path, text: str, name: str = "build.log") -> Path:
    """Write a file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
