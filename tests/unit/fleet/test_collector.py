"""Collecting from folders of this host: real files, written while they are looked at."""

import asyncio
import json
import os
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jobmeter.compat.collector import (
    BreakerPolicy,
    MetricsCollectorConfig,
    TrainingMetricsCollector,
    create_metrics_collector,
)
from jobmeter.errors import UsageError
from jobmeter.fleet import alerts, targets
from jobmeter.fleet.tail import TargetError
from jobmeter.fleet.worker import Worker
from support.collecting import QUICK, latest, rank_status, step_of, write
from support.eventually import eventually

LOG_LINE = "Epoch [1/3] Step [{step}/200] Loss: {loss:.4f} LR: 1.99e-04 Throughput: 152.00 tokens/s\n"


def test_ranks_are_collected_each_step_once(tmp_path: Path) -> None:
    async def main() -> None:
        collector = create_metrics_collector({"0-1": tmp_path}, QUICK)
        for rank in (0, 1):
            write(tmp_path, rank, 1, training_loss=2.0, throughput_tokens_sec=100)
        await collector.start_collection("j", [0, 1])
        for step in (2, 3):
            await eventually(lambda step=step: step_of(collector, 0) == step - 1)
            write(tmp_path, 0, step, training_loss=2.0 / step, throughput_tokens_sec=100 * step)
        await eventually(lambda: step_of(collector, 0) == 3)
        looks = rank_status(collector, 1)["looks"]
        assert isinstance(looks, int)
        await eventually(lambda: rank_status(collector, 1)["looks"] > looks + 3)  # type: ignore[operator]
        await collector.stop_collection("j")
        assert [one.step for one in collector.get_history("j", 0)] == [1, 2, 3]
        assert [one.step for one in collector.get_history("j", 1)] == [1]
        found = collector.get_latest_metrics("j")
        assert isinstance(found, list)
        assert [(one.rank, one.step) for one in found] == [(0, 3), (1, 1)]
        assert found[0].sources == {"training_loss": "file", "throughput_tokens_sec": "file"}
        # the best of the run was 300 tokens/s when rank 0 told its third step
        assert found[0].efficiency_score == 100.0
        statistics = collector.get_job_statistics("j")
        assert (statistics["status"], statistics["total_metrics"]) == ("stopped", 4)
        assert collector.get_statistics()["metrics_collected"] == 4

    asyncio.run(main())


def test_history_is_asked_by_time_and_by_number(tmp_path: Path) -> None:
    async def main() -> None:
        lines = [json.dumps({"timestamp": 1000 + n, "step": n, "loss": n}) + "\n" for n in range(10)]
        (tmp_path / "training_metrics.json").write_text("".join(lines))
        collector = create_metrics_collector(
            {0: tmp_path}, {"collection_interval": 0.03, "max_history_size": 6}
        )
        await collector.start_collection("j", [0])
        await eventually(lambda: step_of(collector, 0) == 9)
        await collector.stop()
        assert [one.step for one in collector.get_history("j", 0)] == [4, 5, 6, 7, 8, 9]
        since = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=1007)
        assert [one.step for one in collector.get_history("j", 0, since=since)] == [7, 8, 9]
        assert [one.step for one in collector.get_history("j", 0, until=since)] == [4, 5, 6, 7]
        assert [one.step for one in collector.get_metrics_history("j", 0, limit=2)] == [8, 9]
        assert collector.get_metrics_history("j", 0, limit=0) == []
        assert collector.get_statistics()["metrics_collected"] == 10

    asyncio.run(main())


def test_without_a_metrics_file_the_log_is_read_and_nothing_is_made_up(tmp_path: Path) -> None:
    async def main() -> None:
        log = tmp_path / "training.log"
        log.write_text(LOG_LINE.format(step=1, loss=2.5))
        collector = create_metrics_collector({0: tmp_path}, QUICK)
        await collector.start_collection("j", [0])
        await eventually(lambda: step_of(collector, 0) == 1)
        with log.open("a") as file:
            file.write(LOG_LINE.format(step=2, loss=2.25))
        await eventually(lambda: step_of(collector, 0) == 2)
        await collector.stop()
        found = latest(collector, 0)
        assert found is not None
        assert (found.training_loss, found.learning_rate, found.throughput_tokens_sec) == (
            2.25,
            1.99e-4,
            152.0,
        )
        assert (found.gpu_util, found.gradient_norm) == (None, None)
        assert found.sources["training_loss"] == "log:ugro"
        assert [one.step for one in collector.get_history("j", 0)] == [1, 2]

    asyncio.run(main())


def test_while_the_metrics_file_speaks_the_log_is_silent_and_takes_over_when_it_stops(tmp_path: Path) -> None:
    async def main() -> None:
        log = tmp_path / "training.log"
        log.write_text("".join(LOG_LINE.format(step=step, loss=9) for step in (1, 2, 3)))
        write(tmp_path, 0, 3, training_loss=1.0)
        collector = create_metrics_collector({0: tmp_path}, QUICK)
        await collector.start_collection("j", [0])
        await eventually(lambda: step_of(collector, 0) == 3)
        with log.open("a") as file:
            file.write(LOG_LINE.format(step=4, loss=9))
        await eventually(lambda: step_of(collector, 0) == 4)
        await collector.stop()
        told = [(one.step, one.sources["training_loss"]) for one in collector.get_history("j", 0)]
        assert told == [(3, "file"), (4, "log:ugro")]

    asyncio.run(main())


def test_a_broken_file_opens_the_breaker_of_its_rank_only_and_mending_it_closes_it(tmp_path: Path) -> None:
    async def main() -> None:
        policy = BreakerPolicy(failures=2, open_seconds=0.1)
        cluster = targets.cluster({"0-1": tmp_path})
        collector = TrainingMetricsCollector(cluster, QUICK, policy=policy)
        write(tmp_path, 0, 1, training_loss=1.0)
        (tmp_path / "metrics_rank1.jsonl").write_bytes(b"\xff\xfegarbage\n")
        await collector.start_collection("j")
        await eventually(lambda: rank_status(collector, 1)["breaker"] == "open")
        assert rank_status(collector, 1)["error"] == f"{tmp_path}/metrics_rank1.jsonl: not JSON"
        assert collector.get_statistics()["circuit_breakers_open"] == 1
        assert rank_status(collector, 0)["breaker"] == "closed"
        write(tmp_path, 1, 1, training_loss=1.0)
        await eventually(lambda: rank_status(collector, 1)["breaker"] == "closed")
        assert step_of(collector, 1) == 1
        await collector.stop()

    asyncio.run(main())


def test_a_rank_that_never_appears_is_missing_and_found_when_it_does(tmp_path: Path) -> None:
    async def main() -> None:
        collector = create_metrics_collector({0: tmp_path / "later"}, QUICK)
        await collector.start_collection("j", [0])
        await eventually(lambda: rank_status(collector, 0)["missing"])
        assert rank_status(collector, 0)["breaker"] == "closed"
        assert collector.get_job_statistics("j")["status"] == "no_metrics"
        write(tmp_path / "later", 0, 1, training_loss=1.0)
        await eventually(lambda: not rank_status(collector, 0)["missing"])
        await collector.stop()

    asyncio.run(main())


def test_a_named_pipe_in_place_of_a_file_holds_nobody_up(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "odd").mkdir()
        os.mkfifo(tmp_path / "odd" / "metrics_rank1.jsonl")
        collector = create_metrics_collector({0: tmp_path / "live", 1: tmp_path / "odd"}, QUICK)
        await collector.start_collection("j")
        for step in range(1, 4):
            write(tmp_path / "live", 0, step, training_loss=1.0)
            await eventually(lambda step=step: step_of(collector, 0) == step)
        await eventually(lambda: rank_status(collector, 1)["breaker"] == "open")
        assert rank_status(collector, 1)["error"] == f"{tmp_path}/odd/metrics_rank1.jsonl: illegal seek"
        await collector.stop()

    asyncio.run(main())


def test_a_call_that_hangs_is_given_up_and_not_piled_up() -> None:
    async def main() -> None:
        worker, release = Worker(), threading.Event()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await worker.do(release.wait)
        with pytest.raises(TargetError, match="an earlier look still hangs"):
            await worker.do(release.wait)
        release.set()
        for _ in range(1000):
            try:
                assert await worker.do(lambda: 7) == 7
                return
            except TargetError:
                await asyncio.sleep(0.005)
        pytest.fail("the worker never became free")

    asyncio.run(main())


def test_the_last_step_before_the_end_is_not_missed(tmp_path: Path) -> None:
    async def main() -> None:
        config = MetricsCollectorConfig(collection_interval=600)
        collector = create_metrics_collector({0: tmp_path}, config)
        write(tmp_path, 0, 1, training_loss=1.0)
        await collector.start_collection("j", [0])
        await eventually(lambda: step_of(collector, 0) == 1)
        write(tmp_path, 0, 2, training_loss=1.0)
        await collector.stop_collection("j")
        assert step_of(collector, 0) == 2

    asyncio.run(main())


@pytest.mark.parametrize("ended", [True, False])
def test_a_last_line_without_an_end_is_whole_only_when_the_job_has_ended(tmp_path: Path, ended: bool) -> None:
    async def main() -> None:
        log = tmp_path / "training.log"
        log.write_text(LOG_LINE.format(step=1, loss=2.5) + LOG_LINE.format(step=2, loss=2.25).rstrip())
        collector = create_metrics_collector({0: tmp_path}, QUICK)
        await collector.start_collection("j", [0])
        await eventually(lambda: step_of(collector, 0) == 1)
        await collector.stop_collection("j", job_ended=ended)
        assert step_of(collector, 0) == (2 if ended else 1)

    asyncio.run(main())


def test_jobs_do_not_stop_one_another(tmp_path: Path) -> None:
    async def main() -> None:
        collector = create_metrics_collector({0: tmp_path}, QUICK)
        await collector.start_collection("first", [0])
        await collector.start_collection("j", [0])
        await collector.stop_collection("first")
        write(tmp_path, 0, 1, training_loss=1.0)
        await eventually(lambda: step_of(collector, 0) == 1)
        assert collector.get_statistics()["active_jobs"] == 1
        await collector.stop()

    asyncio.run(main())


def test_a_job_can_be_collected_again_but_not_twice_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        collector = create_metrics_collector({0: tmp_path}, QUICK)
        await collector.start_collection("j", [0])
        with pytest.raises(UsageError, match="job j is being collected already"):
            await collector.start_collection("j", [0])
        await collector.stop()
        await collector.start_collection("j", [0])
        await collector.stop()

    asyncio.run(main())


def test_samples_go_with_age_and_later_ones_stay(tmp_path: Path) -> None:
    async def main() -> None:
        config = MetricsCollectorConfig(collection_interval=0.03, cleanup_interval_hours=0.2 / 3600)
        collector = create_metrics_collector({0: tmp_path}, config)
        write(tmp_path, 0, 1, training_loss=1.0)
        await collector.start_collection("j", [0])
        await eventually(lambda: step_of(collector, 0) == 1)
        await eventually(lambda: collector.clean_up() == 1)
        assert collector.get_history("j", 0) == []
        write(tmp_path, 0, 2, training_loss=1.0)
        await eventually(lambda: step_of(collector, 0) == 2)
        await collector.stop()

    asyncio.run(main())


def test_thresholds_are_told(tmp_path: Path) -> None:
    async def main() -> None:
        collector = create_metrics_collector({0: tmp_path}, QUICK)
        write(tmp_path, 0, 1, training_loss=99.0, throughput_tokens_sec=10, gpu_util=5)
        await collector.start_collection("j", [0])
        await eventually(lambda: len(collector.get_alerts("j")) == 3)
        await collector.stop()
        assert {alert.kind for alert in collector.get_alerts("j")} == {
            alerts.Kind.LOW_THROUGHPUT,
            alerts.Kind.HIGH_LOSS,
            alerts.Kind.LOW_GPU_UTIL,
        }

    asyncio.run(main())


def test_what_cannot_be_collected_is_refused() -> None:
    async def main() -> None:
        collector = create_metrics_collector({0: "/nowhere"})
        for ranks, sentence in (
            ([], "at least one rank"),
            ([3], "rank 3 has no target"),
            (["0"], "rank must be a whole"),
        ):
            with pytest.raises(UsageError, match=sentence):
                await collector.start_collection("j", ranks)
        with pytest.raises(UsageError, match="a job needs a name"):
            await collector.start_collection("", [0])
        with pytest.raises(UsageError, match="no such job: x"):
            await collector.stop_collection("x")
        assert collector.get_latest_metrics("x") is None
        assert collector.get_job_statistics("x") == {"status": "not_found"}
        assert collector.get_status("x") == {"status": "not_found"}
        assert collector.get_history("x", 0) == []
        assert collector.get_alerts("x") == []

    asyncio.run(main())
    with pytest.raises(UsageError, match="a cluster maps ranks to targets, it is no list"):
        create_metrics_collector(["/a"])  # type: ignore[arg-type]


def test_a_slow_machine_misses_beats_and_does_not_make_up_for_them(tmp_path: Path) -> None:
    async def main() -> None:
        collector = create_metrics_collector({0: tmp_path}, QUICK)
        await collector.start_collection("j", [0])
        await eventually(lambda: rank_status(collector, 0)["looks"] == 2)
        time.sleep(0.3)
        before = rank_status(collector, 0)["looks"]
        await asyncio.sleep(0.001)
        after = rank_status(collector, 0)["looks"]
        assert isinstance(before, int)
        assert isinstance(after, int)
        assert after <= before + 1
        await collector.stop()

    asyncio.run(main())


def test_a_number_beyond_all_others_is_refused_and_no_rank_suffers(tmp_path: Path) -> None:
    async def main() -> None:
        collector = create_metrics_collector({"0-1": tmp_path}, QUICK)
        write(tmp_path, 0, 1, training_loss=10**400, learning_rate=0.5)
        write(tmp_path, 1, 1, training_loss=1e308)
        await collector.start_collection("j", [0, 1])
        await eventually(lambda: step_of(collector, 0) == 1 and step_of(collector, 1) == 1)
        write(tmp_path, 1, 2, training_loss=-1e308)
        await eventually(lambda: step_of(collector, 1) == 2)
        await collector.stop()
        first = latest(collector, 0)
        assert first is not None
        assert (first.training_loss, first.learning_rate) == (None, 0.5)
        assert collector.get_job_statistics("j")["avg_loss"] == 0.0

    asyncio.run(main())


def test_a_stopped_job_is_forgotten_when_its_samples_are_too_old(tmp_path: Path) -> None:
    async def main() -> None:
        config = MetricsCollectorConfig(collection_interval=0.03, cleanup_interval_hours=0.2 / 3600)
        collector = create_metrics_collector({0: tmp_path}, config)
        write(tmp_path, 0, 1, training_loss=1.0)
        await collector.start_collection("j", [0])
        await eventually(lambda: step_of(collector, 0) == 1)
        await collector.stop_collection("j")
        await eventually(lambda: collector.clean_up() == 1)
        assert collector.get_job_statistics("j") == {"status": "not_found"}
        assert collector.get_statistics()["stored_jobs"] == 0

    asyncio.run(main())


def test_a_look_without_a_thread_fails_and_the_next_may_work() -> None:
    async def main() -> None:
        worker, before = Worker(), threading.stack_size()
        threading.stack_size(1 << 46)
        try:
            with pytest.raises(TargetError, match="no thread to look with"):
                await worker.do(lambda: 7)
        finally:
            threading.stack_size(before)
        assert await worker.do(lambda: 7) == 7

    asyncio.run(main())
