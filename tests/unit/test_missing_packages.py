"""What to install for a package that is missing."""

import pytest

from jobmeter import __main__ as program


@pytest.mark.parametrize(
    ("package", "expected"),
    [("psycopg", "jobmeter[postgres]"), ("litestar", "jobmeter[server]"), ("numpy", "jobmeter")],
)
def test_what_brings_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], package: str, expected: str
) -> None:
    from jobmeter.cli import dispatch

    def fail(_argv: list[str]) -> int:
        raise ModuleNotFoundError(name=f"{package}.part")

    monkeypatch.setattr(dispatch, "main", fail)
    assert program.main(["ls"]) == 2
    assert capsys.readouterr().err == (
        f"jobmeter: the package {package}.part is missing\nhint: pip install '{expected}' brings it\n"
    )
