"""One endpoint on its beat, with an endpoint that answers as it is told to."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from jobmeter.fleet.breaker import CircuitBreaker, State
from jobmeter.fleet.endpoint import NoGpusError
from jobmeter.fleet.gpu import Gpu, GpuLook
from jobmeter.fleet.gpupoller import GpuPoller
from jobmeter.fleet.listener import Beat, Details, Surroundings
from jobmeter.fleet.poller import Poller
from jobmeter.fleet.rank import Rank
from jobmeter.fleet.settings import BreakerPolicy, MetricsCollectorConfig
from jobmeter.fleet.tail import PIECE, Found, Got, TargetError, Wanted
from jobmeter.fleet.targets import Place
from jobmeter.fleet.told import Told
from jobmeter.model.view import Event

LOG_LINE = "Epoch [1/3] Step [{}/99999] Loss: 0.5000 LR: 1.99e-04 Throughput: 152.00 tokens/s\n"


class Endpoint:
    """Files in memory; fails as often as it is told to."""

    name = "scripted"

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.errors: list[Exception] = []
        self.asked = 0

    async def read(self, wanted: Sequence[Wanted]) -> list[Got]:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return [self._one(one) for one in wanted]

    def _one(self, wanted: Wanted) -> Got:
        for path in wanted.paths:
            if path in self.files:
                data = self.files[path][wanted.offset : wanted.offset + wanted.length]
                return Got(Found.HERE, path, data)
        return Got(Found.MISSING)

    async def gpus(self) -> str:
        raise NoGpusError("none")

    async def close(self) -> None:
        """Nothing is held."""


class Heard:
    """Keeps all that a poller tells."""

    def __init__(self) -> None:
        self.steps: dict[int, list[int | None]] = {}
        self.events: list[tuple[str, Details]] = []
        self.beats: list[Beat] = []
        self.logged: list[tuple[int, str]] = []

    def told(self, rank: int, new: Sequence[Told], _wall: float) -> None:
        self.steps.setdefault(rank, []).extend(one.step for one in new)

    def looked(self, _endpoint: str, beat: Beat, _wall: float) -> None:
        self.beats.append(beat)

    def saw_gpus(self, _endpoint: str, _look: GpuLook, _of_ranks: Mapping[int, Gpu]) -> None:
        raise AssertionError("there are none")

    def happened(self, kind: str, details: Details) -> None:
        self.events.append((kind, details))

    def log_said(self, rank: int, event: Event) -> None:
        self.logged.append((rank, event.type))


class Scene:
    """A poller of two ranks whose clock is moved by hand."""

    def __init__(self, retries: int = 1) -> None:
        self.now = 1000.0
        self.endpoint, self.heard = Endpoint(), Heard()
        policy = BreakerPolicy(failures=2, open_seconds=30, retries=retries)
        around = Surroundings(clock=lambda: self.now, wall=lambda: 1.7e9, chance=lambda: 0.0)
        settings = (MetricsCollectorConfig(collection_interval=0.01), policy)
        self.ranks = [
            Rank(number, place(number), CircuitBreaker(policy, around.clock, around.chance), around.clock)
            for number in (0, 1)
        ]
        gpus = GpuPoller(self.endpoint, self.ranks, settings, self.heard, around)
        self.poller = Poller(self.endpoint, self.ranks, gpus, settings, self.heard, around)

    def look(self) -> None:
        asyncio.run(self.poller.look(self.now))
        self.now += 1

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.heard.events]


def place(rank: int) -> Place:
    return Place(metrics=(f"m{rank}",), log=(f"l{rank}",), folder=".", gpu=None, output=f"l{rank}")


def test_a_look_that_fails_once_is_tried_again_and_counts_as_one_that_worked() -> None:
    scene = Scene()
    scene.endpoint.files = {"m0": b'{"rank": 0, "step": 1, "loss": 1}'}
    scene.endpoint.errors = [TargetError("reset")]
    scene.look()
    assert (scene.endpoint.asked, scene.heard.steps) == (2, {0: [1]})
    assert scene.ranks[0].failed_looks == 0


def test_a_target_that_hangs_is_not_asked_again_at_once() -> None:
    scene = Scene()
    scene.endpoint.errors = [TimeoutError()]
    scene.look()
    assert scene.endpoint.asked == 1
    assert scene.ranks[0].breaker.last_error == "scripted gave no answer in 10 s"


def test_the_breakers_of_all_ranks_open_with_one_event_and_no_look_is_made_until_the_trial() -> None:
    scene = Scene(retries=0)
    scene.endpoint.errors = [TargetError("a"), OSError(5, "broken"), TargetError("c")]
    scene.look()
    assert scene.kinds() == []
    scene.look()
    assert scene.heard.events == [
        ("breaker_open", {"ranks": [0, 1], "target": "scripted", "error": "scripted: [Errno 5] broken"})
    ]
    scene.look()
    assert scene.endpoint.asked == 2
    scene.now += 30
    scene.look()
    assert (scene.endpoint.asked, scene.ranks[0].breaker.state) == (3, State.OPEN)
    scene.now += 60
    scene.look()
    assert scene.heard.events[1] == ("breaker_closed", {"ranks": [0, 1], "target": "scripted"})
    assert [beat.answered for beat in scene.heard.beats] == [False, False, False, True]


def test_a_trial_is_not_repeated() -> None:
    scene = Scene(retries=5)
    scene.endpoint.errors = [TargetError(str(n)) for n in range(20)]
    scene.look()
    assert scene.endpoint.asked == 6
    scene.look()
    assert scene.endpoint.asked == 7


def test_what_breaks_our_reading_of_one_rank_costs_that_rank_only(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.endpoint.files = {
        "m0": b'{"rank": 0, "step": 1, "loss": 1}',
        "m1": b'{"rank": 1, "step": 1, "loss": 1}',
    }

    def explode(*_: object, **__: object) -> None:
        raise ZeroDivisionError("in a parser")

    monkeypatch.setattr(scene.ranks[0], "take", explode)
    scene.look()
    scene.look()
    assert scene.heard.steps == {1: [1]}
    assert scene.ranks[0].breaker.last_error == "cannot be read: ZeroDivisionError: in a parser"
    assert scene.kinds() == ["breaker_open"]
    assert scene.ranks[1].breaker.state is State.CLOSED


def test_a_file_longer_than_a_piece_is_read_on_in_the_same_look() -> None:
    scene = Scene()
    text = "".join(LOG_LINE.format(step) for step in range(1, 9001))
    assert len(text) > 2 * PIECE
    scene.endpoint.files = {"l0": text.encode()}
    scene.look()
    assert scene.heard.steps[0] == list(range(1, 9001))
    assert scene.endpoint.asked > 2


def test_a_step_that_the_log_told_first_is_not_told_again_by_the_file() -> None:
    scene = Scene()
    scene.endpoint.files = {"m0": b'{"rank": 0, "step": 1, "loss": 1}', "l0": LOG_LINE.format(1).encode()}
    for _ in range(4):
        scene.look()
    # the log is written, the file a moment later
    scene.endpoint.files["l0"] += LOG_LINE.format(2).encode()
    scene.look()
    scene.endpoint.files["m0"] = b'{"rank": 0, "step": 2, "loss": 1}'
    scene.look()
    scene.endpoint.files["m0"] = b'{"rank": 0, "step": 3, "loss": 1}'
    scene.look()
    assert scene.heard.steps == {0: [1, 2, 3]}


def test_an_error_while_reading_on_reaches_the_breaker() -> None:
    scene = Scene()
    scene.endpoint.files = {"l0": b"x" * (PIECE + 5)}
    asked = scene.endpoint.read

    async def fail_later(wanted: Sequence[Wanted]) -> list[Got]:
        scene.endpoint.errors = [TargetError("gone")] if scene.endpoint.asked == 1 else []
        return await asked(wanted)

    scene.endpoint.read = fail_later  # type: ignore[method-assign]
    scene.look()
    assert scene.ranks[0].breaker.last_error == "gone"
    assert scene.ranks[1].breaker.last_error is None


def test_a_refused_value_and_a_broken_file_are_told_once() -> None:
    scene = Scene()
    for step in (1, 2):
        scene.endpoint.files = {
            "m0": b'{"rank": 0, "step": %d, "loss": "low", "lr": 0.1}' % step,
            "m1": b"garbage\n",
            "l1": b"nothing to see\n",
        }
        scene.look()
    assert scene.heard.steps == {0: [1, 2]}
    assert scene.heard.events == [
        (
            "metric_refused",
            {"rank": 0, "target": "scripted", "error": "training_loss must be a number, not 'low'"},
        ),
        ("source_failed", {"rank": 1, "target": "scripted", "source": "fleet", "error": "m1: not JSON"}),
    ]
    # the log of rank 1 can be read: its breaker has nothing to complain about
    assert scene.ranks[1].breaker.failures == 0


def test_a_rank_that_is_missing_is_told_once_and_again_when_it_is_found() -> None:
    scene = Scene()
    scene.endpoint.files = {"m0": b'{"rank": 0, "step": 1, "loss": 1}'}
    for _ in range(5):
        scene.look()
    scene.endpoint.files["l1"] = b"hello\n"
    scene.look()
    scene.look()
    assert scene.kinds() == ["rank_missing", "rank_found"]


def test_a_file_that_may_not_be_read_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    refused = Got(Found.UNREADABLE, "m0", reason="permission denied")
    monkeypatch.setattr(scene.endpoint, "_one", lambda _: refused)
    scene.look()
    scene.look()
    assert scene.ranks[0].breaker.state is State.OPEN
    assert scene.ranks[0].breaker.last_error == "m0: permission denied"


def test_without_a_process_to_ask_with_gpus_are_absent_and_looking_goes_on() -> None:
    class Crowded(Endpoint):
        async def gpus(self) -> str:
            raise BlockingIOError(11, "Resource temporarily unavailable")

    scene = Scene()
    around = Surroundings(clock=lambda: scene.now, wall=lambda: 1.7e9, chance=lambda: 0.0)
    settings = (MetricsCollectorConfig(), BreakerPolicy(failures=2))
    poller = GpuPoller(Crowded(), scene.ranks, settings, scene.heard, around)
    asyncio.run(poller.look())
    assert poller.absent == "[Errno 11] Resource temporarily unavailable"
