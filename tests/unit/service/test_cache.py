import os
from pathlib import Path

import pytest

from jobmeter.service import cache

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:2 - nfs4 server:/home rw
31 30 0:41 / /home/u/with\\040space rw - tmpfs tmpfs rw
32 22 0:42 / /scratch rw - lustre server:/scratch rw
33 22 0:43 / /scratch rw - xfs /dev/sdb1 rw
garbage
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    file = tmp_path / "mountinfo"
    file.write_text(MOUNTS)
    return file


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/u/.cache", "nfs4"),
        ("/homeless", "ext4"),
        ("/home/u/with space/x", "tmpfs"),
        ("/scratch/x", "xfs"),
    ],
)
def test_the_deepest_and_latest_mount_counts(mounts: Path, path: str, kind: str) -> None:
    assert cache.file_system(Path(path), mounts) == kind


def test_a_system_that_does_not_say_is_no_network(tmp_path: Path) -> None:
    assert cache.file_system(tmp_path, tmp_path / "nowhere") is None


def test_every_home_has_an_index_of_its_own(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    first, second = (cache.index_path(tmp_path / name, environ) for name in ("a", "b"))
    assert first != second
    assert first.parent.parent == tmp_path / "cache" / "jobmeter"
    assert first.name == "index.db"
    assert first.parent.name.rpartition("-")[0].endswith("-a")


def test_the_same_home_by_another_path_has_the_same_index(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to("home")
    assert cache.index_path(tmp_path / "link", environ) == cache.index_path(tmp_path / "home", environ)


def test_without_a_cache_of_ones_own_the_home_directory_serves(tmp_path: Path) -> None:
    found = cache.index_path(tmp_path / "a", {"HOME": str(tmp_path), "XDG_CACHE_HOME": "relative"})
    assert found.is_relative_to(tmp_path / ".cache" / "jobmeter")


def test_a_cache_on_a_network_is_not_used(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 1 0:1 / / rw - ext4 x rw\n2 1 0:2 / {tmp_path} rw - nfs4 s:/x rw\n")
    found = cache.index_path(tmp_path / "a", {"XDG_CACHE_HOME": str(tmp_path)}, mounts)
    assert found.is_relative_to(f"/var/tmp/jobmeter-{os.getuid()}")
    found.parent.rmdir()


def test_a_directory_everyone_can_write_to_is_not_used(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    folder = cache.index_path(tmp_path / "a", environ).parent
    folder.chmod(0o777)
    found = cache.index_path(tmp_path / "a", environ)
    assert found.is_relative_to(f"/var/tmp/jobmeter-{os.getuid()}")
    found.parent.rmdir()


def test_a_directory_of_another_user_is_not_used(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    folder = cache.index_path(tmp_path / "a", environ).parent
    os.chown(folder, 65534, 65534)
    found = cache.index_path(tmp_path / "a", environ)
    assert found.is_relative_to(f"/var/tmp/jobmeter-{os.getuid()}")
    found.parent.rmdir()


def test_long_and_odd_homes_give_usable_names(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    name = cache.index_path(tmp_path / ("x" * 200) / "caf\udce9 \n", environ).parent.name
    assert len(name) < 100
    assert name.isascii()
    assert name.isprintable()


def test_what_is_made_above_an_index_is_this_users_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = cache.index_path(tmp_path / "home", {"XDG_CACHE_HOME": str(tmp_path / "new" / "cache")})
    finally:
        os.umask(before)
    made = [folder for folder in path.parents if folder.is_relative_to(tmp_path / "new")]
    assert len(made) == 4
    assert {folder.stat().st_mode & 0o777 for folder in made} == {0o700}
