"""The example of the page about alerts is a file that works, and its tables name every setting."""

import re
from pathlib import Path

import pytest

from jobmeter.service import alert_rule_text, alert_settings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "alerts.md").read_text()
# Apprise imports a module that a later Python drops
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


def test_the_example_is_read_whole(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```toml\n(# alerts\.toml\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "alerts.toml").write_text(example)
    (tmp_path / "alerts.toml").chmod(0o600)
    settings = alert_settings.load(
        str(tmp_path), {"XDG_CONFIG_HOME": str(tmp_path / "none")}, str(tmp_path), now=0.0
    )
    assert list(settings.channels) == ["team", "chat"]
    assert set(settings.rules) == {
        *("low_throughput", "high_loss", "told"),
        *("memory-high", "slow", "silent", "trouble", "failed", "gpus-of-a-project"),
    }
    assert settings.channels_of(settings.rules["failed"]) == ("chat",)


def rows(title: str) -> set[str]:
    """Take the names in the first column of the first table below a heading."""
    table = PAGE.split(f"\n## {title}\n")[1].split("\n\n")[0]
    cells = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}


def test_every_setting_of_a_rule_has_a_row_and_every_row_a_setting() -> None:
    known = alert_rule_text._COMMON.union(*(keys for keys, _ in alert_rule_text._CONDITIONS.values()))
    assert rows("Rules") == known


def test_every_setting_of_a_channel_has_a_row_and_every_row_a_setting() -> None:
    assert rows("Channels") == set(alert_settings._CHANNEL)


def test_the_default_rules_are_named() -> None:
    assert all(f"`{name}`" in PAGE for name in alert_rule_text.defaults())
