"""Tables of monitors in the forms the corpus does not have: units, midnight, containers side by side."""

import json
from pathlib import Path

from jobmeter.formats import power_csv, rapl_csv
from support.foreign import read, written


def test_power_columns_in_a_unit_they_can_be_in_are_converted(tmp_path: Path) -> None:
    text = "timestamp,cpu_power_mw,gpu_power_w,energy_j\n" + "".join(
        f"2026-01-03T15:36:5{i}Z,{1500 + i},{100 + i},{10 * i}\n" for i in range(3)
    )
    (found,) = read(written(tmp_path, "power.csv", text), "power_csv")
    first = next(iter(found.windows))
    assert first.values["power_cpu_power", ""] == 1.5
    assert first.values["power_gpu_power", ""] == 100
    assert found.run.definitions["power_cpu_power"].unit.value == "watts"
    assert found.run.provenance.inexact == {}
    assert power_csv.sniff(b"timestamp,steps\n1,2\n", "x.csv") == 0
    assert rapl_csv.sniff(b"1,2\n3,4\n5,6\n", "matrix.csv") == 0


def test_containers_of_one_table_are_runs_each_and_totals_become_deltas(tmp_path: Path) -> None:
    text = (
        "Timestamp,Container,CPU %,Mem Usage / Limit,Mem %,Net I/O,Block I/O,PIDs\r\n"
        "2025-12-10 14:47,app,0.24%,240MiB / 15.5GiB,1.51%,1.2kB / 0B,0B / 0B,3\r\n"
        "2025-12-10 14:47,db,1.00%,9.5MiB / 15.5GiB,0.06%,1kB / 0B,0B / 0B,4\r\n"
        "2025-12-10 14:48,app,0.44%,250MiB / 15.5GiB,1.51%,2.2kB / 0B,0B / 0B,3\r\n"
    )
    app, db = read(written(tmp_path, "stats.csv", text), "docker_stats")
    first, second = app.windows
    assert (app.run.name, db.run.name) == ("app", "db")
    assert first.values["docker_mem_used", ""] == 240 << 20
    assert second.values["docker_net_rx", ""] == 1000
    assert app.run.summary["docker_net_rx"] == 2200
    assert app.run.limits.memory_bytes == round(15.5 * 2**30)
    assert "no seconds" in app.run.provenance.inexact["timestamps"]
    assert app.digest != db.digest


def test_a_memory_without_a_unit_stays_a_plain_number(tmp_path: Path) -> None:
    text = "Time;Container;CPU;Memory\r\n2024-12-05 10:32;web;0.5;120.3\r\n"
    (found,) = read(written(tmp_path, "docker.csv", text), "docker_stats")
    assert found.run.summary["docker_peak_mem_unitless"] == 120.3
    assert "docker_peak_mem_used" not in found.run.summary
    assert "no unit" in found.run.provenance.inexact["docker_mem_unitless"]


def test_the_table_and_the_json_lines_of_docker_say_the_same(tmp_path: Path) -> None:
    table = (
        "\x1b[2J\x1b[HCONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT   MEM %     NET I/O     BLOCK I/O    PIDS\n"
        "b95a83497c91   awesome   0.28%     5.5MiB / 2GiB   0.28%     916B / 0B     147kB / 0B   9\n"
    )
    line = {
        "Name": "awesome",
        "ID": "b95a83497c91",
        "CPUPerc": "0.28%",
        "MemUsage": "5.5MiB / 2GiB",
        "MemPerc": "0.28%",
        "NetIO": "916B / 0B",
        "BlockIO": "147kB / 0B",
        "PIDs": "9",
    }
    (one,) = read(written(tmp_path, "stats.txt", table), "docker_stats")
    (other,) = read(written(tmp_path, "stats.json", json.dumps(line) + "\n"), "docker_stats")
    assert one.run.summary == other.run.summary
    assert one.run.summary["docker_blk_read"] == 147000
    assert [window.values for window in one.windows] == [window.values for window in other.windows]


def test_sar_goes_round_at_midnight_and_averages_are_no_samples(tmp_path: Path) -> None:
    text = (
        "Linux 5.4.0 (node7) \t2026-01-15 \t_x86_64_\t(8 CPU)\n\n"
        "11:59:59 PM     CPU     %user   %system     %idle\n"
        "11:59:59 PM     all      1.50      0.50     98.00\n"
        "12:00:01 AM     all      2.50      0.50     97.00\n"
        "Average:        all      2.00      0.50     97.50\n"
    )
    (found,) = read(written(tmp_path, "sar.txt", text), "sysstat")
    first, second = found.windows
    assert second.timestamp - first.timestamp == 2
    assert second.values["sar_usr", "all"] == 2.5
    assert found.run.summary["sar_mean_idle"] == 97.5


def test_iostat_with_times_has_a_window_per_report(tmp_path: Path) -> None:
    report = (
        "{}\navg-cpu:  %user   %idle\n           {}    90.00\n\n"
        "Device             tps    kB_read/s\nsda               1.00     4.00\n\n"
    )
    text = "Linux 5.4.0 (node7) \t01/25/2026 \t_x86_64_\t(8 CPU)\n\n"
    text += report.format("01/25/2026 10:00:00 AM", "5.00") + report.format("01/25/2026 10:00:05 AM", "6.00")
    (found,) = read(written(tmp_path, "iostat.txt", text), "iostat")
    first, second = found.windows
    assert second.timestamp - first.timestamp == 5
    assert (first.values["iostat_usr", ""], second.values["iostat_usr", ""]) == (5.0, 6.0)
    assert second.values["iostat_read_rate", "sda"] == 4096


def test_vmstat_with_times_is_read_and_its_zone_is_not(tmp_path: Path) -> None:
    text = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n"
        " r  b   swpd   free  inact active   si   so    bi    bo   in   cs us sy id wa st                 PDT\n"
        " 2  0      0 2794716 295968 312724    0    0     1     3   29   57  0  0 99  0  0 2021-09-16 20:33:13\n"
        " 0  0      0 2794716 295968 312744    0    0     0     0   41   84  0  0 100  0  0 2021-09-16 20:33:18\n"
    )
    (found,) = read(written(tmp_path, "vmstat.txt", text), "vmstat")
    first, second = found.windows
    assert second.timestamp - first.timestamp == 5
    assert first.values["vmstat_free", ""] == 2794716 * 1024
    assert (first.values["vmstat_read_rate", ""], second.values["vmstat_idle", ""]) == (1024, 100)
    assert "since boot" in found.run.provenance.inexact["first_sample"]


def test_the_full_table_of_ps_has_cpu_time_and_no_sizes(tmp_path: Path) -> None:
    text = "UID    PID   PPID  C STIME TTY      TIME CMD\nroot     1      0  0 Oct25 ?    00:01:03 init x\n"
    (found,) = read(written(tmp_path, "ps.txt", text), "ps_table")
    (window,) = found.windows
    assert window.values == {("ps_cmd", "1"): "init x", ("ps_cputime", "1"): 63}
