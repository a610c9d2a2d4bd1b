"""Advice written into configs: the value changes, everything else stays, and what has no place is said."""

import json
import stat
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.report import Recommendation, Severity
from jobmeter.service import applying, editing
from support import reports

YAML = """\
# my lora
job: extension
config:
  name: "lora"   # its name
  process:
    - type: 'sd_trainer'
      datasets:
        - folder_path: "/a"
          num_workers: 2  # two
          resolution: [ 512, 768, 1024 ]  # sizes
        - resolution:
            - 512
            - 1024
          cache: yes
      train:
        batch_size: 4
        ema_config: {use_ema: true}
        empty:
      model: {}
"""
ADVISED = YAML.replace("num_workers: 2", "num_workers: 0")


def advice(path: str | None, value: object, rule: str = "num_workers") -> Recommendation:
    return Recommendation(
        rule=rule,
        severity=Severity.INFO,
        title="t",
        action="a",
        impact="i",
        config_path=path,
        current_value=2,
        recommended_value=value,
    )


def changed(text: str, path: str, value: object, name: str = "job.yaml") -> str:
    return editing.editor_for(Path(name), text).change(text, path, value)


def test_the_config_is_written_elsewhere_and_stays_as_it_was(tmp_path: Path) -> None:
    config, new = tmp_path / "job.yml", tmp_path / "new.yml"
    config.write_text(YAML)
    config.chmod(0o640)
    applied = applying.apply(reports.report(), str(config), str(new))
    assert (config.read_text(), new.read_text()) == (YAML, ADVISED)
    assert stat.S_IMODE(new.stat().st_mode) == 0o640
    assert [line for line in applied.diff.splitlines() if line[0] in "+-"][2:] == [
        "-          num_workers: 2  # two",
        "+          num_workers: 0  # two",
    ]
    assert applied.as_record()["applied"] == [
        {
            "rule": "num_workers",
            "config_path": "config.process[0].datasets[0].num_workers",
            "current_value": 2,
            "recommended_value": 0,
        }
    ]
    assert sorted(tmp_path.iterdir()) == [config, new]


def test_the_config_itself_is_changed_where_it_is_named(tmp_path: Path) -> None:
    config, link = tmp_path / "job.yml", tmp_path / "link.yml"
    config.write_text(YAML)
    link.symlink_to(config)
    applying.apply(reports.report(), str(link), str(link))
    assert link.is_symlink()
    assert config.read_text() == ADVISED


def test_what_has_no_place_is_said(tmp_path: Path) -> None:
    config = tmp_path / "job.yml"
    config.write_text(YAML)
    told = reports.report(
        recommendations=(
            reports.WORKERS,
            advice("config.process[0].datasets[0].num_workers", 1),
            advice(None, 1, "leak"),
            advice("--mem", "3M", "memory_request"),
        )
    )
    applied = applying.apply(told, str(config), str(tmp_path / "new.yml"))
    assert [(one.rule, reason) for one, reason in applied.skipped] == [
        ("num_workers", "another advice on the same setting comes first"),
        ("leak", "it is not a setting"),
        ("memory_request", "--mem is not in it"),
    ]
    assert applied.as_record()["skipped"] == [
        {"rule": one.rule, "config_path": one.config_path, "reason": reason}
        for one, reason in applied.skipped
    ]


def test_only_some_rules_can_be_asked_for(tmp_path: Path) -> None:
    config = tmp_path / "job.yml"
    config.write_text(YAML)
    told = reports.report(
        recommendations=(reports.WORKERS, advice("config.process[0].train.batch_size", 2, "batch_size"))
    )
    new = tmp_path / "new.yml"
    applying.apply(told, str(config), str(new), only=("batch_size",))
    assert new.read_text() == YAML.replace("batch_size: 4", "batch_size: 2")


def refused(config: Path, new: Path, **changes: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        applying.apply(reports.report(), str(config), str(new), **changes)  # type: ignore[arg-type]
    assert not new.exists()
    return caught.value


def test_what_cannot_be_done_is_refused_with_a_sentence(tmp_path: Path) -> None:
    config, new = tmp_path / "job.yml", tmp_path / "new.yml"
    assert str(refused(config, new)).startswith(f"cannot read {config}")
    config.write_bytes(b"\xff\xfe")
    assert str(refused(config, new)) == f"{config} is no text"
    config.write_bytes(b"#" * ((8 << 20) + 1))
    assert str(refused(config, new)) == f"{config} is too large for a config"
    config.write_text("a: [")
    assert str(refused(config, new)).startswith("not YAML")
    config.write_text("a: 1")
    error = refused(config, new)
    assert str(error) == f"no advice has a place in {config}"
    assert error.hint == "num_workers: config.process[0].datasets[0].num_workers is not in it"
    assert str(refused(config, new, only=("nonsense",))) == "no rule is called nonsense"
    assert refused(config, new, only=("leak",)).hint == "jobmeter analyze RUN says what it advises"
    config.write_text(YAML)
    nowhere = refused(config, tmp_path / "no" / "new.yml")
    assert str(nowhere) == f"cannot write {tmp_path / 'no' / 'new.yml'}: no such file or directory"
    odd = tmp_path / "config.ini"
    odd.write_text("a = 1")
    assert str(refused(odd, new)) == f"{odd} is no config jobmeter can change"


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        ("config.process[0].datasets[0].resolution", [512, 768], "[ 512, 768, 1024 ]", "[512, 768]"),
        ("config.process[0].datasets[1].resolution", [512], "- 512\n            - 1024", "[512]"),
        ("config.process[0].train.ema_config.use_ema", False, "use_ema: true", "use_ema: false"),
        ("config.process[0].train.empty", "x", "empty:", "empty: x"),
        ("config.name", "a b", '"lora"', '"a b"'),
        (
            "config.process[0].train.gradient_checkpointing",
            True,
            "batch_size",
            "gradient_checkpointing: true\n        batch_size",
        ),
        ("dataloader_num_workers", 8, "num_workers: 2", "num_workers: 8"),
    ],
)
def test_yaml_changes_by_the_bytes_of_the_value_alone(
    path: str, value: object, before: str, after: str
) -> None:
    assert changed(YAML, path, value) == YAML.replace(before, after, 1)


@pytest.mark.parametrize(
    "path",
    [
        "config.process[0].model.quantize",
        "config.process[1].x",
        "config.process[0].train.ema_config.decay",
        "nothing",
    ],
)
def test_yaml_without_a_place_is_left(path: str) -> None:
    with pytest.raises(editing.NotThereError, match="is not in it"):
        changed(YAML, path, 1)


def test_json_keeps_its_order_and_indentation() -> None:
    text = '{\n    "b": 1,\n    "a": {"num_workers": 2, "ü": "ß"}\n}\n'
    made = changed(text, "a.num_workers", 4, "c.json")
    assert json.loads(made) == {"b": 1, "a": {"num_workers": 4, "ü": "ß"}}
    assert made.startswith('{\n    "b": 1,\n')
    assert made.endswith("}\n")
    assert changed('{"x": [1, 2]}', "x[1]", 3, "c.json") == '{"x": [1, 3]}'
    with pytest.raises(UsageError, match="not JSON"):
        changed("{", "a", 1, "c.json")


def test_toml_keeps_its_comments() -> None:
    text = "# top\n[train]\nbatch_size = 4  # four\n\n[[sets]]\nnum_workers = 2\n"
    assert changed(text, "batch_size", 8, "c.toml") == text.replace("= 4", "= 8")
    assert changed(text, "sets[0].num_workers", 0, "c.toml") == text.replace("= 2", "= 0")
    with pytest.raises(UsageError, match="not TOML"):
        changed("= 1", "a", 1, "c.toml")


SCRIPT = """\
#!/bin/bash
#SBATCH --mem=8G   # plenty
#SBATCH -c 4
#SBATCH --time 1-00:00:00

OMP_NUM_THREADS=8
srun python train.py --num_workers 4 --lr=1 data.prefetch_factor=2 --bf16
"""


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        ("--mem", "300M", "--mem=8G", "--mem=300M"),
        ("--memory", "300M", "--mem=8G", "--mem=300M"),
        ("--cpus-per-task", 1, "-c 4", "-c 1"),
        ("--time", "00:10:00", "--time 1-00:00:00", "--time 00:10:00"),
        ("--gres", "gpu:1", "1-00:00:00\n", "1-00:00:00\n#SBATCH --gres=gpu:1\n"),
        ("--num_workers", 8, "--num_workers 4", "--num_workers 8"),
        ("data.prefetch_factor", 4, "factor=2", "factor=4"),
        ("OMP_NUM_THREADS", 2, "THREADS=8", "THREADS=2"),
        ("PYTORCH_CUDA_ALLOC_CONF", "a:True", "OMP_NUM", "export PYTORCH_CUDA_ALLOC_CONF=a:True\nOMP_NUM"),
        ("--lr", True, "--lr=1", "--lr=true"),
    ],
)
def test_batch_scripts_change_where_they_say_it(path: str, value: object, before: str, after: str) -> None:
    assert changed(SCRIPT, path, value, "job.sbatch") == SCRIPT.replace(before, after, 1)


def test_short_options_may_stand_without_a_space() -> None:
    assert changed("#SBATCH -c4\n", "--cpus-per-task", 2, "job") == "#SBATCH -c2\n"
    assert changed("#!/bin/sh\n", "A_B", 2, "job") == "#!/bin/sh\nexport A_B=2\n"


@pytest.mark.parametrize("value", ['"a b"', "'a b'", '"a \\" b"', "a", ""])
def test_a_variable_in_quotes_is_replaced_whole(value: str) -> None:
    assert (
        changed(f"#!/bin/sh\nexport A_B={value}; run\n", "A_B", 2, "job") == "#!/bin/sh\nexport A_B=2; run\n"
    )


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        ("[" * 100_000, "c.json", "not JSON"),
        ("a = {b = 1, b = 2}", "c.toml", "not TOML"),
        ("- " * 3000, "c.yml", "not YAML"),
    ],
)
def test_configs_that_no_reader_takes_are_refused(text: str, name: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        changed(text, "a", 1, name)


def test_json_keeps_letters_that_are_escaped() -> None:
    assert changed('{"a": 1, "b": "\\u00e9\\ud800"}', "a", 2, "c.json") == '{"a": 2, "b": "\\u00e9\\ud800"}'
    assert changed('{"a": 1, "b": "é"}', "a", 2, "c.json") == '{"a": 2, "b": "é"}'


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("#SBATCH --mem-per-cpu=2G\n", "--mem", "it asks by --mem-per-cpu, which --mem would contradict"),
        ("#!/bin/sh\n", "--mem", "--mem is not in it, and no other #SBATCH line is"),
        (SCRIPT, "--batch_size", "--batch_size is not in it"),
    ],
)
def test_batch_scripts_without_a_place_are_left(text: str, path: str, reason: str) -> None:
    with pytest.raises(editing.NotThereError, match=f"^{reason}$"):
        changed(text, path, "1", "job.sh")
