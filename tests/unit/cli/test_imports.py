"""Modules found the short way are the modules that the ordinary way finds, or are left to it."""

import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from jobmeter.cli import imports

ROOT = Path(__file__).resolve().parents[3] / "src"

PORTRAIT = """
import sys
sys.path.insert(0, sys.argv[1])
from jobmeter.cli import imports
if sys.argv[2] == "short":
    imports.hasten()
import jobmeter.probes.procfs as module, jobmeter.probes as package
for one in (module, package):
    spec = one.__spec__
    print(one.__name__, one.__file__, one.__cached__, one.__package__, getattr(one, "__path__", None))
    print(spec.name, spec.origin, spec.cached, spec.parent, spec.has_location, spec.submodule_search_locations)
    loader = one.__loader__
    print(type(loader), vars(loader), loader is spec.loader, loader.get_source(one.__name__)[:40])
    print(loader.get_code(one.__name__).co_filename, sorted(vars(one)))
print(module.read_stat.__code__.co_filename, package.procfs is module)
"""


BY_TIME = py_compile.PycInvalidationMode.TIMESTAMP


def compiled(source: Path, text: str, mode: py_compile.PycInvalidationMode = BY_TIME) -> Path:
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    return Path(str(py_compile.compile(str(source), invalidation_mode=mode)))


def found(name: str, folder: Path) -> dict[str, object] | None:
    """Import one module the short way only."""
    spec = imports.find_spec(name, [str(folder)])
    if spec is None:
        return None
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return vars(module)


def test_modules_and_packages_are_the_same_whichever_way_they_came(tmp_path: Path) -> None:
    for package in ("probes", "cli"):
        for source in (ROOT / "jobmeter" / package).glob("*.py"):
            compiled(tmp_path / "jobmeter" / package / source.name, source.read_text())
    compiled(tmp_path / "jobmeter" / "__init__.py", "")
    command = [sys.executable, "-ISB", "-c", PORTRAIT, str(tmp_path)]
    short, ordinary = (
        subprocess.run([*command, way], capture_output=True, text=True, check=True).stdout
        for way in ("short", "ordinary")
    )
    assert short == ordinary
    assert f"jobmeter.probes.procfs {tmp_path}/jobmeter/probes/procfs.py" in short


def test_a_module_runs_with_its_own_name_and_file(tmp_path: Path) -> None:
    compiled(tmp_path / "one.py", "answer = (__name__, __file__)")
    module = found("jobmeter.one", tmp_path)
    assert module is not None
    assert module["answer"] == ("jobmeter.one", f"{tmp_path}/one.py")


def test_a_source_that_changed_is_compiled_anew(tmp_path: Path) -> None:
    compiled(tmp_path / "one.py", "answer = 1")
    (tmp_path / "one.py").write_text("answer = 23")
    assert found("jobmeter.one", tmp_path) is None
    compiled(tmp_path / "two.py", "answer = 1")
    os.utime(tmp_path / "two.py", (7, 7))
    assert found("jobmeter.two", tmp_path) is None


def test_what_has_no_compiled_file_or_no_source_is_left_to_the_ordinary_way(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("answer = 1")
    assert found("jobmeter.one", tmp_path) is None
    compiled(tmp_path / "two.py", "answer = 2")
    (tmp_path / "two.py").unlink()
    assert found("jobmeter.two", tmp_path) is None
    assert found("jobmeter.three", tmp_path) is None


@pytest.mark.parametrize(
    "mode", [py_compile.PycInvalidationMode.CHECKED_HASH, py_compile.PycInvalidationMode.UNCHECKED_HASH]
)
def test_what_is_checked_by_hash_is_left_to_the_ordinary_way(
    tmp_path: Path, mode: py_compile.PycInvalidationMode
) -> None:
    compiled(tmp_path / "one.py", "answer = 1", mode)
    assert found("jobmeter.one", tmp_path) is None


def test_a_compiled_file_that_is_cut_off_or_of_another_python_is_left_to_the_ordinary_way(
    tmp_path: Path,
) -> None:
    cached = compiled(tmp_path / "one.py", "answer = 1")
    whole = cached.read_bytes()
    for damaged in (b"", whole[:10], b"\0\0" + whole[2:]):
        cached.write_bytes(damaged)
        assert found("jobmeter.one", tmp_path) is None


def test_a_file_too_large_to_be_read_at_once_is_left_to_the_ordinary_way(tmp_path: Path) -> None:
    compiled(tmp_path / "one.py", f"answer = {'x' * 100_000!r}")
    assert found("jobmeter.one", tmp_path) is None


def test_a_package_that_was_moved_names_its_new_place(tmp_path: Path) -> None:
    compiled(tmp_path / "before" / "one.py", "def where():\n    pass\n")
    (tmp_path / "before").rename(tmp_path / "after")
    module = found("jobmeter.one", tmp_path / "after")
    assert module is not None
    assert module["where"].__code__.co_filename == f"{tmp_path}/after/one.py"  # type: ignore[attr-defined]  # a function


def test_packages_of_others_are_none_of_ours(tmp_path: Path) -> None:
    compiled(tmp_path / "one.py", "answer = 1")
    assert found("json.one", tmp_path) is None
    assert found("jobmeters.one", tmp_path) is None
    assert imports.find_spec("jobmeter", None) is None


@pytest.mark.parametrize("how", ["-O", "-Xpycache_prefix=/nowhere"])
def test_where_compiled_files_lie_elsewhere_nothing_is_hastened(how: str) -> None:
    text = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from jobmeter.cli import imports; imports.hasten()"
    )
    asked = f"{text}; print(imports in sys.meta_path)"
    answers = [
        subprocess.run(
            [sys.executable, "-ISB", *options, "-c", asked], capture_output=True, text=True, check=True
        )
        for options in ([], [how])
    ]
    assert [answer.stdout for answer in answers] == ["True\n", "False\n"]
