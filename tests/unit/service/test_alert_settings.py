"""Rules and channels as files say them: what is taken, what is refused, and whose word counts."""

import os
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.alert import Absence, Budget, Ended, Found, Level, Op, Per, Spent, Threshold, Told
from jobmeter.model.report import Cause, Severity
from jobmeter.service import alert_rule_text, alert_settings
from jobmeter.service.alert_settings import AlertSettings

# Apprise imports a module that a later Python drops
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

NOW = 1_794_736_201.0
HOOK = '[channels.team]\nurl = "https://hooks.example.org/T0/abcdef"\n'


def load(tmp_path: Path, home: str = "", user: str = "", project: str = "") -> AlertSettings:
    """Read settings of a home, a user and a project that say this."""
    for folder, name, text in (
        (tmp_path / "home", "alerts.toml", home),
        (tmp_path / "config" / "jobmeter", "config.toml", user),
        (tmp_path / "work" / ".jobmeter", "config.toml", project),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        if text:
            (folder / name).write_text(text)
            (folder / name).chmod(0o600)
    environ: Mapping[str, str] = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    return alert_settings.load(str(tmp_path / "home"), environ, str(tmp_path / "work"), now=NOW)


def refusal(tmp_path: Path, **texts: str) -> str:
    with pytest.raises(UsageError) as refused:
        load(tmp_path, **texts)
    assert refused.value.hint
    return str(refused.value)


def test_the_default_rules_are_the_three_thresholds_of_a_collection(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings.files == ()
    thresholds = {
        name: (one.condition.key, one.condition.op, one.condition.value)
        for name, one in settings.rules.items()
        if isinstance(one.condition, Threshold)
    }
    assert thresholds == {
        "low_throughput": ("tokens_per_second", Op.BELOW, 50.0),
        "high_loss": ("loss", Op.ABOVE, 10.0),
        "low_gpu_util": ("gpu_util", Op.BELOW, 30.0),
    }
    assert settings.rules["told"].condition == Told(least=Level.WARN)


def test_every_kind_of_rule(tmp_path: Path) -> None:
    rules = load(
        tmp_path,
        home="""
        defaults = false
        [rules.memory-high]
        key = "memory"
        op = ">="
        value = "90%"
        clear = "80%"
        for = "2m"
        where = "project=llm"
        severity = "critical"
        repeat = "4h"
        [rules.silent]
        kind = "absence"
        for = 90
        [rules.found]
        kind = "finding"
        detector = ["leak", "stall"]
        least = "info"
        [rules.ended]
        kind = "verdict"
        [rules.oom]
        kind = "verdict"
        causes = ["oom_cgroup"]
        [rules.gpus]
        kind = "budget"
        gpu_hours = 500
        per = "project"
        window = "30d"
        [rules.loud]
        kind = "told"
        level = "ERROR"
        """,
    ).rules
    assert list(rules) == ["memory-high", "silent", "found", "ended", "oom", "gpus", "loud"]
    high = rules["memory-high"]
    assert high.condition == Threshold(key="memory", op=Op.AT_LEAST, value=90, clear=80, of_limit=True)
    assert (high.for_seconds, high.clear_for_seconds, high.repeat_seconds) == (120, 120, 14_400)
    assert (high.severity, high.where) == (Severity.CRITICAL, "project=llm")
    assert (rules["silent"].condition, rules["silent"].for_seconds) == (Absence(), 90)
    assert rules["found"].condition == Found(detectors=frozenset(("leak", "stall")), least=Severity.INFO)
    assert rules["ended"].condition == Ended(causes=frozenset(Cause) - {Cause.COMPLETED, Cause.INTERRUPTED})
    assert rules["oom"].condition == Ended(causes=frozenset((Cause.OOM_CGROUP,)))
    assert rules["gpus"].condition == Budget(
        spent=Spent.GPU_HOURS, limit=500, per=Per.PROJECT, window_seconds=30 * 86_400
    )
    assert rules["loud"].condition == Told(least=Level.ERROR)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("memory", '"4GiB"', 4 * 2**30),
        ("cgroup_mem_current", '"500MB"', 500_000_000),
        ("gpu_util", '"30%"', 30),
        ("learning_rate", "1e-3", 0.001),
        ("metric.foo", "7", 7),
    ],
)
def test_values_may_have_units(tmp_path: Path, key: str, value: str, expected: float) -> None:
    rules = load(tmp_path, home=f'[rules.r]\nkey = "{key}"\nvalue = {value}\n').rules
    condition = rules["r"].condition
    assert isinstance(condition, Threshold)
    assert (condition.value, condition.of_limit) == (expected, False)
    assert condition.key == ("lr" if key == "learning_rate" else key)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[rules.r]\nvalue = 1", "rule r: key is missing"),
        ('[rules.r]\nkey = "memry"\nvalue = 1', "rule r: key is memry, which nothing measures"),
        ('[rules.r]\nkey = "memory"', "rule r: value is missing"),
        ('[rules.r]\nkey = "memory"\nvalue = "lots"', "rule r: value is no number"),
        ('[rules.r]\nkey = "memory"\nvalue = true', "rule r: value is no number"),
        ("[rules.r]\nkey = 7\nvalue = 1", "rule r: key is no text"),
        ('[rules.r]\nkey = "memory"\nop = "=>"\nvalue = 1', "rule r: op is =>"),
        ('[rules.r]\nkey = "memory"\nvalue = 5\nclear = 6', "rule r: clear is beyond value"),
        (
            '[rules.r]\nkey = "memory"\nvalue = "5%"\nclear = 4',
            "rule r: clear is another kind of number than value",
        ),
        ('[rules.r]\nkey = "memory"\nvalue = 5\nfor = "often"', "rule r: for is no span of time"),
        ('[rules.r]\nkey = "memory"\nvalue = 5\nfor = true', "rule r: for is no span of time"),
        ('[rules.r]\nkey = "memory"\nvalue = 5\nspeed = 3', "rule r: unknown setting speed"),
        ('[rules.r]\nkey = "memory"\nvalue = 5\nwhere = "nosuch=3"', "cannot read the filter at column 1"),
        ('[rules.r]\nkey = "memory"\nvalue = 5\nchannels = 3', "rule r: channels is no list of names"),
        ('[rules.r]\nkey = "memory"\nvalue = 5\nchannels = ["x"]', "rule r: no channel is called x"),
        ('[rules.r]\nkind = "weather"', "rule r: kind is weather"),
        ('[rules.r]\nkind = "verdict"\nfor = "1m"', "rule r: unknown setting for"),
        ('[rules.r]\nkey = "memory"\nvalue = 5\nlasts = "1m"', "rule r: unknown setting lasts"),
        ('[rules.r]\nkind = "finding"\ndetector = "nose"', "rule r: detector names nose"),
        ('[rules.r]\nkind = "budget"', "rule r: the budget is not one thing"),
        ('[rules.r]\nkind = "budget"\ngpu_hours = "3GiB"', "rule r: gpu_hours is no number"),
        ('[rules."a b"]\nkind = "told"', "rule a b: a name has letters, digits and ._- only"),
        ("[rules]\nr = 3", "rule r: not a table"),
        ("rules = 3", "rules is not a table"),
        ("rule = 3", "unknown setting rule"),
        ("[rules", "is not valid TOML"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    found = refusal(tmp_path, home=text)
    assert told in found


def test_the_nearest_file_wins_name_by_name(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        user='[alerts.rules.a]\nkey = "loss"\nvalue = 1\n[alerts.rules.b]\nkey = "loss"\nvalue = 1\n',
        project='[alerts.rules.b]\nkey = "loss"\nvalue = 2\n[alerts.rules.high_loss]\nenabled = false\n',
        home='[rules.c]\nkey = "loss"\nvalue = 3\n',
    )
    values = {
        name: rule.condition.value
        for name, rule in settings.rules.items()
        if isinstance(rule.condition, Threshold) and name in "abc"
    }
    assert values == {"a": 1, "b": 2, "c": 3}
    assert "high_loss" not in settings.rules
    assert len(settings.files) == 3


def test_a_project_may_not_choose_where_messages_go(tmp_path: Path) -> None:
    found = refusal(tmp_path, project="[alerts.channels.evil]\nurl = 'https://evil.example/'\n")
    assert found.endswith("may name channels")


def test_a_file_that_is_named_may_say_what_to_watch_for_but_not_whom_to_tell(tmp_path: Path) -> None:
    named = tmp_path / "named.toml"
    named.write_text('[alerts.rules.a]\nkind = "told"\n')
    environ = {"JOBMETER_CONFIG": str(named), "XDG_CONFIG_HOME": str(tmp_path)}
    assert "a" in alert_settings.load(str(tmp_path), environ, str(tmp_path), now=NOW).rules
    named.write_text("[alerts.channels.evil]\nurl = 'https://evil.example/'\n")
    with pytest.raises(UsageError, match="may name channels"):
        alert_settings.load(str(tmp_path), environ, str(tmp_path), now=NOW)


def test_a_home_that_came_with_a_project_may_not_either(tmp_path: Path) -> None:
    home = tmp_path / "checkout" / ".jobmeter"
    home.mkdir(parents=True)
    (home / "alerts.toml").write_text(HOOK)
    with pytest.raises(UsageError, match="may name channels"):
        alert_settings.load(str(home), {}, str(tmp_path), now=NOW)


def test_a_link_to_a_home_that_came_with_a_project_may_not_either(tmp_path: Path) -> None:
    home = tmp_path / "checkout" / ".jobmeter"
    home.mkdir(parents=True)
    (home / "alerts.toml").write_text(HOOK)
    (tmp_path / "link").symlink_to(home)
    with pytest.raises(UsageError, match="may name channels"):
        alert_settings.load(str(tmp_path / "link"), {}, str(tmp_path), now=NOW)


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_channels_that_others_may_write_are_not_used(tmp_path: Path, mode: int) -> None:
    load(tmp_path, home=HOOK)
    (tmp_path / "home" / "alerts.toml").chmod(mode)
    with pytest.raises(UsageError, match="others may write it"):
        alert_settings.load(str(tmp_path / "home"), {}, str(tmp_path), now=NOW)


def test_channels_of_another_user_are_not_used(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.fail("the suite runs as root")
    load(tmp_path, home=HOOK)
    os.chown(tmp_path / "home" / "alerts.toml", 12_345, 12_345)
    with pytest.raises(UsageError, match="others may write it"):
        alert_settings.load(str(tmp_path / "home"), {}, str(tmp_path), now=NOW)


def test_channels_with_all_their_settings(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_text("s3cret\n")
    channels = load(
        tmp_path,
        home=HOOK
        + 'secret_file = "key"\nallow = ["10.0.0.0/8"]\nper_hour = 5\ngroup = "30s"\ntimeout = "3s"\n'
        + 'least = "warning"\nresolved = false\n'
        + '[channels.chat]\nurl = "json://hooks.example.org/abcdef"\n',
    ).channels
    team = channels["team"]
    assert team.webhook is not None
    assert (team.webhook.secret, team.webhook.timeout_seconds) == ("s3cret", 3.0)
    assert team.webhook.allowed == (ip_network("10.0.0.0/8"),)
    assert (team.per_hour, team.group_seconds, team.least) == (5, 30.0, Severity.WARNING)
    assert not team.tells_resolved
    assert channels["chat"].apprise_url == "json://hooks.example.org/abcdef"


def test_rules_name_the_channels_they_are_told_through(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        home=HOOK
        + '[channels.other]\nurl = "https://other.example/"\n'
        + '[rules.a]\nkind = "told"\nchannels = ["other"]\n[rules.b]\nkind = "told"\n',
    )
    assert settings.channels_of(settings.rules["a"]) == ("other",)
    assert settings.channels_of(settings.rules["b"]) == ("team", "other")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[channels]\nteam = 3", "channel team: not a table"),
        ("[channels.team]\nsecret = 'x'", "channel team: url is missing"),
        ("[channels.team]\nurl = 7", "channel team: url is no text"),
        ("[channels.team]\nurl_file = 'nowhere'", "channel team: url_file cannot be read or is empty"),
        (f"{HOOK}kind = 'pigeon'", "channel team: kind is unknown"),
        (f"{HOOK}speed = 3", "channel team: unknown setting speed"),
        (f"{HOOK}allow = '10.0.0.0/8'", "channel team: allow is no list of address ranges"),
        (f"{HOOK}allow = ['ten']", "channel team: ten is no range of addresses"),
        (f"{HOOK}per_hour = 0", "channel team: per_hour is no whole number above 0"),
        (f"{HOOK}group = 'soon'", "channel team: group is no span of time"),
        (f"{HOOK}group = '2d'", "channel team: group is longer than 3600 s"),
        (f"{HOOK}least = 'loud'", "channel team: least is none of critical, warning, info"),
        ("[channels.team]\nurl = 'https://u:abcdef@x/'", "may not hold a password"),
        ("[channels.team]\nurl = 'nosuch://abcdef/'", "Apprise cannot read the URL of scheme nosuch://"),
    ],
)
def test_a_channel_that_cannot_be_is_refused_without_showing_secrets(
    tmp_path: Path, text: str, told: str
) -> None:
    found = refusal(tmp_path, home=text)
    assert told in found
    assert "abcdef" not in found


def test_a_section_that_is_no_table(tmp_path: Path) -> None:
    assert "alerts is not a table" in refusal(tmp_path, user="alerts = 3\n")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "alerts.toml").mkdir()
    assert "cannot read" in refusal(tmp_path)


def test_a_changed_file_has_another_stamp(tmp_path: Path) -> None:
    load(tmp_path, home="defaults = true\n")
    home = str(tmp_path / "home")
    before = alert_settings.stamps(home, {}, home)
    (tmp_path / "home" / "alerts.toml").write_text("defaults = false\n")
    assert alert_settings.stamps(home, {}, home) != before


def test_a_rule_that_is_switched_off_is_none() -> None:
    assert alert_rule_text.parse("r", {"enabled": False}, now=NOW) is None
