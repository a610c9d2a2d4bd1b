"""Examples of what is answered, for the OpenAPI document; a test holds each against its schema."""

from typing import Any

RUN_ID = "20261115T095001Z-7f3a9c"
_HEADLINE = {
    "cpu_seconds": {
        "value": 12.05,
        "low": 12.05,
        "high": 12.05,
        "keys": ["cgroup_cputime"],
        "exact": True,
    }
}
_RUN = {
    "run_id": RUN_ID,
    "job_id": RUN_ID,
    "name": "nightly",
    "project": "app",
    "status": "completed",
    "exit_code": 0,
    "command": ["make", "-j4"],
    "host": "node7",
    "started_at": "2026-11-15T09:50:01.123Z",
    "ended_at": "2026-11-15T09:51:01.123Z",
    "wall_seconds": 60.0,
    "headline": _HEADLINE,
    "tags": {"team": "vision"},
}
_VERDICT = {"cause": "completed", "sentence": "the job completed", "confidence": 0.99, "evidence": []}

ANSWERS: dict[str, Any] = {
    "applyAdvice": {
        "job_id": RUN_ID,
        "config": "train:\n  num_workers: 0\n",
        "applied": [
            {
                "rule": "num_workers",
                "config_path": "train.num_workers",
                "current_value": 2,
                "recommended_value": 0,
            }
        ],
        "skipped": [],
        "diff": "--- config.yaml\n+++ config.yaml\n@@ -1,2 +1,2 @@\n train:\n-  num_workers: 2\n+  num_workers: 0\n",
    },
    "changeRun": _RUN | {"name": "baseline", "notes": ["lr was 3e-4", "the one to beat"]},
    "compareJobs": {
        "jobs": [
            {
                "job_id": "job1",
                "duration_seconds": 3600.0,
                "throughput": 4.2,
                "final_loss": 0.32,
                "gpu_utilization": 98.5,
            }
        ],
        "winner": {
            "best_throughput": "job1",
            "best_loss": "job1",
            "fastest": "job1",
            "most_efficient": "job1",
        },
    },
    "compareRuns": {
        "runs": [RUN_ID, "20261115T101500Z-0b1c2d"],
        "metrics": [
            {
                "key": "wall",
                "unit": "seconds",
                "values": [60.0, 54.0],
                "change_percent": [0.0, -10.0],
                "winner": "20261115T101500Z-0b1c2d",
            }
        ],
        "config": [{"path": "--jobs", "values": ["4", "8"]}],
        "environment": [],
        "phases": [],
        "loss_at_step": [],
    },
    "countRuns": {
        "facets": {"status": [{"value": "completed", "count": 12}, {"value": "failed", "count": 3}]}
    },
    "listLiving": {
        "jobs": [
            {
                "job_id": RUN_ID,
                "name": "nightly",
                "runs": [_RUN | {"status": "running"}],
                "hosts": ["node7"],
                "progress": {
                    "by": "steps",
                    "step": 450,
                    "of": 1000,
                    "percent": 45.0,
                    "seconds_left": 110.0,
                },
            }
        ],
        "runs": 1,
        "hosts": ["node7"],
    },
    "deleteRun": {"run_id": RUN_ID, "purged": False, "freed_bytes": 0},
    "getCampaign": {
        "campaign_start": "2026-11-01T00:00:00.000Z",
        "last_updated": "2026-11-15T09:51:01.123Z",
        "total_builds_all_regions": 3,
        "regions": [
            {"region": "us-central1", "builds": 3, "successes": 2, "failures": 1, "success_rate": 66.7}
        ],
    },
    "getContext": {
        "run_id": RUN_ID,
        "config": {"lr": 0.001, "batch_size": 32},
        "host": {"hostname": "node7", "system": "Linux", "cpus": 64},
        "limits": {"memory_bytes": 134217728, "memory_source": "cgroup"},
        "again": "cd /home/u/src && jobmeter run --name nightly -- make -j4",
        "measured": [
            {
                "source": "wait",
                "keys": [
                    {
                        "key": "wait_cputime",
                        "kind": "counter",
                        "unit": "seconds",
                        "scope": "job",
                        "about": "CPU time of the job",
                        "summary": {"wait_cputime": 45.7},
                    }
                ],
            }
        ],
        "missing": {"nvml": "no NVIDIA GPU"},
        "origin": "jobmeter",
    },
    "getJobAnalysis": {
        "summary": {
            "health_score": "critical",
            "peak_memory_gb": 119.2,
            "total_memory_gb": 120.0,
            "training_completed": False,
            "steps_completed": 450,
            "duration_minutes": 32.5,
        },
        "recommendations": [
            {
                "severity": "critical",
                "title": "Reduce worker count",
                "action": "Set num_workers: 0",
                "impact": "Saves ~16GB memory",
                "config_path": "config.process[0].datasets[0].num_workers",
                "current_value": 2,
                "recommended_value": 0,
            }
        ],
        "log_errors": [
            {
                "timestamp": 1731723012.5,
                "level": "ERROR",
                "message": "RuntimeError: CUDA out of memory",
                "memory_at_time_gb": 119.2,
            }
        ],
        "metrics_timeline": [],
    },
    "getJobAnalytics": {
        "job_id": "abc123",
        "status": "completed",
        "duration": {"total_seconds": 3600.0, "training_seconds": 3450.0, "overhead_seconds": 150.0},
        "performance": {
            "average_samples_per_second": 4.2,
            "peak_samples_per_second": 5.1,
            "average_iteration_time": 3.8,
            "total_iterations": 1000,
            "total_samples": 16000,
        },
        "resource_utilization": {
            "average_gpu_utilization": 98.5,
            "peak_gpu_memory_mb": 18432.0,
            "average_gpu_memory_mb": 17200.0,
            "average_gpu_temp_celsius": 68.0,
            "peak_gpu_temp_celsius": 72.0,
        },
        "checkpoints": {
            "total_checkpoints": 5,
            "checkpoint_frequency_steps": 200,
            "best_checkpoint": "checkpoint-800",
            "final_checkpoint": "checkpoint-1000",
        },
        "losses": {
            "initial_loss": 2.45,
            "final_loss": 0.32,
            "best_loss": 0.28,
            "loss_reduction_percent": 86.9,
        },
        "efficiency": {"gpu_utilization_score": 98.5, "throughput_score": 82.4, "overall_score": 90.5},
    },
    "getLogs": {
        "run_id": RUN_ID,
        "stream": "stdout",
        "streams": ["stdout", "stderr"],
        "begin": 0,
        "next": 17,
        "size_bytes": 17,
        "lines": [
            {
                "offset": 0,
                "text": "step 1 loss 0.5",
                "number": 1,
                "timestamp": "2026-11-15T09:50:02.100Z",
                "cut": False,
            }
        ],
        "tail": None,
        "complete": True,
        "reason": None,
    },
    "getReport": {
        "verdict": _VERDICT,
        "health": "good",
        "findings": [],
        "recommendations": [],
        "log_errors": [],
    },
    "getRun": _RUN | {"summary": {"wait_cputime": 12.05}, "verdict": _VERDICT},
    "getSeries": {
        "run_id": RUN_ID,
        "series": [
            {
                "key": "cgroup_mem_current",
                "instance": "",
                "kind": "gauge",
                "unit": "bytes",
                "rate": False,
                "t": [1794736230.1],
                "begin": [1794736201.1],
                "n": [30],
                "min": [1048576],
                "max": [734003200],
                "mean": [500000000.0],
                "last": [612368384],
            }
        ],
        "coarse": True,
    },
    "getClock": {
        "run_id": RUN_ID,
        "clocks": [
            {
                "rank": 0,
                "source": "sdk",
                "writer": "steps.jsonl",
                "step": [0, 99],
                "t": [1794736202.0, 1794736229.5],
                "steps_per_second": [None, 3.6],
            }
        ],
    },
    "getSteps": {
        "run_id": RUN_ID,
        "series": [
            {
                "metric": "loss",
                "rank": 0,
                "source": "sdk",
                "writer": "steps.jsonl",
                "rising": True,
                "step": [99],
                "first_step": [0],
                "n": [100],
                "finite": [99],
                "min": [0.28],
                "max": [2.45],
                "last": ["NaN"],
            }
        ],
        "metrics": ["loss"],
        "coarse": True,
    },
    "getSummary": {
        "total_jobs": 150,
        "jobs_by_status": {"completed": 120, "failed": 30},
        "average_training_duration_seconds": 3200.0,
        "total_training_time_hours": 133.3,
        "average_throughput_samples_per_sec": 4.1,
        "top_performing_jobs": [{"job_id": "xyz789", "throughput": 5.2, "duration": 2800.0}],
        "resource_trends": {"average_gpu_utilization": 96.2, "average_peak_memory_mb": 17800.0},
    },
    "listAlerts": {
        "alerts": [
            {
                "rule": "memory-high",
                "run_id": RUN_ID,
                "state": "firing",
                "severity": "critical",
                "sentence": "cgroup_mem_unreclaimable is 9.5 GiB, the threshold is above 9 GiB (90 % of its limit)",
                "value": 10200547328.0,
                "since": "2026-11-15T09:50:31.123Z",
                "fired_at": "2026-11-15T09:51:31.123Z",
            }
        ],
        "history": [],
        "undelivered": [],
    },
    "listBin": {"runs": [{"run_id": RUN_ID, "removed_at": "2026-11-16T08:00:00.000Z", "disk_bytes": 35704}]},
    "listEvents": {
        "run_id": RUN_ID,
        "events": [
            {
                "timestamp": "2026-11-15T09:50:30.000Z",
                "type": "oom_kill",
                "measurements": {"cgroup_mem_current": 1.0},
            }
        ],
    },
    "listMeasurements": {
        "measurements": [
            {
                "key": "cgroup_cputime",
                "kind": "counter",
                "unit": "seconds",
                "scope": "job",
                "reduce": ["delta"],
                "summary": ["total"],
                "about": "CPU time of the job's cgroup",
                "collector": "cgroup",
                "available": True,
                "default": True,
            }
        ]
    },
    "listProcesses": {
        "run_id": RUN_ID,
        "processes": [{"instance": "4712@5095505", "pid": 4712, "command": "cc1plus", "cpu_seconds": 3.1}],
        "total": 118,
        "by_command": [{"command": "cc1plus", "cpu_seconds": 36.9, "processes": 118}],
        "roles": {},
    },
    "glanceAtRuns": {
        "runs": [
            {
                "run_id": RUN_ID,
                "health": "warning",
                "lines": {
                    "memory": {
                        "key": "cgroup_mem_current",
                        "unit": "bytes",
                        "values": [1048576, 4194304],
                        "last": 2097152,
                    }
                },
            }
        ],
        "waiting": [],
    },
    "listFields": {
        "fields": [
            {"name": "wall", "holds": "a span of time", "operators": ["<", ">"], "example": "90s"},
            {"name": "status", "holds": "text", "operators": ["=", "!="], "values": ["running", "failed"]},
        ]
    },
    "listRuns": {"runs": [_RUN], "next": None, "total": 1},
    "restoreRun": {"run_id": RUN_ID},
    "sizeJobs": {
        "jobs": [
            {
                "job": "vision/resnet",
                "runs": 12,
                "advice": {
                    "memory": {
                        "unit": "bytes",
                        "asked": 68719476736,
                        "typical": 20401094656,
                        "largest": 22548578304,
                        "advised": 25769803776,
                        "low": 19864223744,
                        "high": 23085449216,
                        "failure_probability": 0.004,
                        "failure_probability_high": 0.05,
                        "confidence": "medium",
                        "runs": 12,
                        "method": "history",
                        "expected_saving": 0.621,
                    }
                },
                "missing": {"gpus": "no GPU was seen"},
            }
        ]
    },
}
"""By operation."""
