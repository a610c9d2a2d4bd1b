"""People who record: root with a cgroup of its own, and nobody without any right."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from harness import recorded
from harness.recorded import Person, Recorded, Wish

Record = Callable[..., Recorded]


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """Give a folder on a disk that nobody may enter: /tmp may be memory, pytest's folders are private."""
    with tempfile.TemporaryDirectory(
        prefix="jobmeter-truth-", dir="/var/tmp", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="session")
def people(scratch: Path) -> dict[str, Person]:
    """Prepare both people once."""
    return {"root": recorded.root(), "nobody": recorded.nobody(scratch / "nobody")}


@pytest.fixture(scope="session")
def record(scratch: Path, people: dict[str, Person]) -> Record:
    """Record a workload (`storm.py` and its options) or any other command as one of the people."""
    numbers = count()

    def run(who: str, *command: str, wish: Wish = recorded.PLAIN) -> Recorded:
        person = people[who]
        argv = list(command)
        if argv[0].endswith(".py"):
            argv = [person.interpreter, str(person.workloads / argv[0]), *argv[1:]]
        return recorded.record(person, argv, scratch / f"run-{next(numbers)}", wish)

    return run


@pytest.fixture(scope="session")
def storms(record: Record) -> Callable[[str], Recorded]:
    """Record the fork storm once per person; several tests look at it."""
    kept: dict[str, Recorded] = {}

    def storm(who: str) -> Recorded:
        if who not in kept:
            kept[who] = record(who, "storm.py", wish=Wish(options=("--sample-interval", "0.5")))
        return kept[who]

    return storm
