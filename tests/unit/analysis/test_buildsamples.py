"""Runs as the samples of a build."""

from jobmeter.analysis import buildsamples, buildstats
from jobmeter.model.run import Limits
from support import views
from support.views import GIB, MIB, STARTED, counter, gauge

HOST = {"host": {"cpus": 4, "memory_bytes": 16 * GIB}}


def test_the_host_is_sampled_once_a_minute() -> None:
    seconds = range(1, 1501)
    view = views.view(
        [
            counter("host_cputime", [(s, 2.0) for s in seconds]),
            gauge("host_mem_available", [(s, 12 * GIB) for s in seconds]),
            counter("host_write_bytes", [(s, MIB) for s in seconds]),
            counter("cgroup_cputime", [(s, 0.5) for s in seconds]),
        ],
        context=HOST,
    )
    found = buildsamples.samples_of(view)
    assert found.scope == "host"
    assert found.samples[0] == {
        "ts": "2026-11-15T09:50:02+00:00",
        "cpu": 50,
        "mem_used_gb": 4,
        "mem_total_gb": 16,
        "io_write_mb": 1,
    }
    assert found.samples[1]["ts"] == "2026-11-15T09:51:02+00:00"
    assert len(found.samples) == 26
    assert buildstats.build_metrics(found.samples)["io_write_total_mb"] == 1499


def test_a_short_run_is_sampled_more_often() -> None:
    view = views.view([counter("host_cputime", [(s, 1.0) for s in range(1, 42)])], context=HOST)
    found = buildsamples.samples_of(view)
    assert [sample["ts"] for sample in found.samples[:2]] == [
        "2026-11-15T09:50:02+00:00",
        "2026-11-15T09:50:04+00:00",
    ]
    assert len(found.samples) == 21


def test_samples_stand_only_where_something_was_measured() -> None:
    view = views.view([counter("host_cputime", [(s, 1.0) for s in (0, 5, 10, 1200)])], context=HOST)
    stamps = [str(sample["ts"])[11:19] for sample in buildsamples.samples_of(view).samples]
    assert stamps == ["09:50:01", "10:10:01"]


def test_a_last_sample_right_after_another_takes_its_place() -> None:
    view = views.view([counter("host_cputime", [(s, 1.0) for s in range(1202)])], context=HOST)
    stamps = [str(sample["ts"])[11:19] for sample in buildsamples.samples_of(view).samples]
    assert len(stamps) == 21
    assert stamps[-2:] == ["10:09:01", "10:10:02"]


def test_cpu_time_between_samples_counts_in_full_and_never_over_all_cores() -> None:
    view = views.view([counter("host_cputime", [(1, 0.4), (2, 4.2), (3, 2.0)], span=1.0)], context=HOST)
    assert [sample.get("cpu") for sample in buildsamples.samples_of(view).samples] == [10, 100, 50]


def test_what_was_not_measured_is_absent() -> None:
    series = [
        counter("host_cputime", [(1, 1.0)], span=0.0),
        gauge("host_mem_available", [(1, GIB), (9, GIB)]),
    ]
    (first, *_, last) = buildsamples.samples_of(views.view(series)).samples
    assert first == {"ts": "2026-11-15T09:50:02+00:00"}
    assert last == {"ts": "2026-11-15T09:50:10+00:00"}
    gaps = buildsamples.samples_of(views.view(series, context=HOST)).samples
    assert [sample.get("mem_used_gb") for sample in gaps] == [15, 15]
    assert all("cpu" not in sample for sample in gaps)


def test_without_the_host_the_job_itself_is_taken() -> None:
    found = buildsamples.samples_of(views.build_run(limits=Limits(cpus=2.0)))
    assert found.scope == "job"
    assert [sample.get("cpu") for sample in found.samples] == [25, 100, 75, 12.5]
    assert [sample["mem_used_gb"] for sample in found.samples] == [0.1, 0.29, 0.2, 0.05]
    assert [sample["io_write_mb"] for sample in found.samples] == [0, 0, 64, 192]


def test_a_run_without_series_has_no_samples() -> None:
    assert buildsamples.samples_of(views.view([])) == buildsamples.Samples(scope="job", samples=[])


def test_an_imported_build_gives_its_samples_back() -> None:
    view = views.view(
        [
            gauge("buildstats_cpu", [(0, 6), (60, 48.5)]),
            gauge("buildstats_mem_used", [(0, 13 * GIB), (60, 52 * GIB)]),
            gauge("buildstats_mem_total", [(0, 692 * GIB), (60, 692 * GIB)]),
            counter("buildstats_io_write", [(0, 0), (60, 7000 * MIB)]),
        ]
    )
    assert buildsamples.samples_of(view).samples == [
        {
            "ts": "2026-11-15T09:50:01+00:00",
            "cpu": 6,
            "mem_used_gb": 13,
            "mem_total_gb": 692,
            "io_write_mb": 0,
        },
        {
            "ts": "2026-11-15T09:51:01+00:00",
            "cpu": 48.5,
            "mem_used_gb": 52,
            "mem_total_gb": 692,
            "io_write_mb": 7000,
        },
    ]


def test_samples_of_memory_alone_are_a_build_too() -> None:
    view = views.view([gauge("buildstats_mem_used", [(0, GIB)])])
    assert buildsamples.samples_of(view).samples == [{"ts": "2026-11-15T09:50:01+00:00", "mem_used_gb": 1}]


def test_a_value_that_is_too_old_for_a_sample_is_absent() -> None:
    series = [counter("host_cputime", [(s, 1.0) for s in (1, 2, 3)]), gauge("host_mem_available", [(1, GIB)])]
    found = buildsamples.samples_of(views.view(series, context=HOST)).samples
    assert [sample.get("mem_used_gb") for sample in found] == [15, None, None]


def test_the_moments_are_those_of_the_run() -> None:
    view = views.view([counter("wait_cputime", [(1, 1.0)])], context=HOST)
    (only,) = buildsamples.samples_of(view).samples
    assert only == {"ts": "2026-11-15T09:50:02+00:00", "cpu": 25, "mem_total_gb": 16}
    assert STARTED == 1794736201.0


def test_a_reading_that_is_no_number_is_left_out_of_its_sample() -> None:
    readings = [(1, float("nan")), (61, 4 * GIB), (121, float("inf"))]
    written = [(1, float("nan")), (61, MIB), (121, MIB)]
    view = views.view(
        [gauge("buildstats_mem_used", readings), counter("buildstats_io_write", written)], context=HOST
    )
    told = [
        {"ts": "2026-11-15T09:50:02+00:00", "io_write_mb": 0},
        {"ts": "2026-11-15T09:51:02+00:00", "mem_used_gb": 4, "io_write_mb": 1},
        {"ts": "2026-11-15T09:52:02+00:00", "io_write_mb": 2},
    ]
    assert buildsamples.samples_of(view).samples == told
