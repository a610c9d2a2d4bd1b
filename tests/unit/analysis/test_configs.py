"""Settings are found whatever framework wrote them, and requests only where somebody asked."""

import pytest

from jobmeter.analysis import configs
from jobmeter.analysis.configs import Asked, Setting
from support import cases
from support.views import GIB


def found(name: str, command: tuple[str, ...] = (), **context: object) -> Setting | None:
    return configs.find(cases.run(command=command, context=context), name)


def test_ai_toolkit_names_the_path_of_its_yaml() -> None:
    told = found("num_workers", config=cases.AI_TOOLKIT, config_path="/x/job.yml")
    assert told == Setting("config.process[0].datasets[0].num_workers", 2)


def test_what_an_ai_toolkit_config_leaves_out_has_its_default_and_its_place() -> None:
    bare = {"config": {"process": [{"type": "sd_trainer"}]}}
    assert found("quantise", config=bare) == Setting("config.process[0].model.quantize", False)
    assert found("pin_memory", config=bare) is None


@pytest.mark.parametrize(
    "tree", [None, [], {"config": 1}, {"config": {"process": {}}}, {"config": {"process": [1]}}]
)
def test_other_configs_have_no_defaults_we_know(tree: object) -> None:
    assert found("quantise", config=tree) is None


def test_the_settings_of_the_model_and_of_samples_are_not_those_of_the_training() -> None:
    assert found("batch_size", config=cases.TRAINER) == Setting("per_device_train_batch_size", 8)
    assert found("batch_size", config=cases.AI_TOOLKIT) == Setting("config.process[0].train.batch_size", 4)
    assert found("batch_size", config={1: 2, "model_config": {"batch_size": 3}}) is None


def test_a_mapping_is_no_value_and_a_tree_without_end_is_left() -> None:
    deep: dict[str, object] = {"batch_size": 3}
    for _ in range(20):
        deep = {"a": deep}
    assert found("batch_size", config=deep) is None
    assert found("batch_size", config={"batch": {"size": 3}, "x": {"batch_size": 2}}) == Setting(
        "x.batch_size", 2
    )


@pytest.mark.parametrize(
    ("words", "path", "value"),
    [
        (("--num_workers", "4"), "--num_workers", 4),
        (("--num-workers=4",), "--num-workers", 4),
        (("--data.num_workers=4",), "--data.num_workers", 4),
        (("data.num_workers=4",), "data.num_workers", 4),
        (("+data.num_workers=null",), "data.num_workers", None),
        (("--num_workers", "--fast"), "--num_workers", True),
        (("--num_workers",), "--num_workers", True),
        (("--num_workers", "1.5"), "--num_workers", 1.5),
        (("--num_workers", "auto"), "--num_workers", "auto"),
        (("--num_workers", "inf"), "--num_workers", "inf"),
    ],
)
def test_options_and_overrides_of_the_command_line(words: tuple[str, ...], path: str, value: object) -> None:
    assert found("num_workers", ("python", "train.py", "--lr", "1", "x=2", *words)) == Setting(path, value)


def test_the_command_line_is_where_to_change_it_unless_a_file_is_known() -> None:
    words = ("python", "train.py", "--num_workers", "4")
    assert found("num_workers", words, config={"num_workers": 4}) == Setting("--num_workers", 4)
    from_file = found("num_workers", words, config={"num_workers": 4}, config_path="x.yml")
    assert from_file == Setting("num_workers", 4)


def test_what_the_script_told_is_what_it_ran_with() -> None:
    run = cases.run(command=("t", "--num_workers", "4"), context={"config": {"num_workers": 8}})
    assert configs.value_of(run, "num_workers") == 8
    assert configs.value_of(run, "ema") is None


@pytest.mark.parametrize(
    ("value", "number", "count"),
    [(4, 4.0, 4), (4.5, 4.5, None), (True, None, None), ("4", None, None), (10**20, None, None)],
)
def test_a_setting_is_a_number_or_is_not(value: object, number: float | None, count: int | None) -> None:
    assert (Setting("x", value).number, Setting("x", value).count) == (number, count)


def test_paths_and_options_lead_to_settings() -> None:
    assert configs.canonical("config.process[0].datasets[0].num_workers") == "num_workers"
    assert configs.canonical("--num-workers") == "num_workers"
    assert configs.canonical("--mem") is None


def asked(what: Asked, given: object = None, **context: object) -> Setting | None:
    known = {"host": {"memory_bytes": 64 * GIB, "cpus": 16}} | context
    return configs.request(cases.run(limits=given or cases.limits(8, 4.0), context=known), what)


def test_memory_of_a_cgroup_was_asked_for_and_that_of_the_machine_was_not() -> None:
    assert asked(Asked.MEMORY, limits={"memory_source": "cgroup"}) == Setting("--memory", 8 * GIB)
    assert asked(Asked.MEMORY, limits={"memory_source": "host"}) is None
    assert asked(Asked.MEMORY, cases.limits(64)) is None
    assert asked(Asked.MEMORY, cases.limits()) is None


def test_slurm_has_its_own_words() -> None:
    assert asked(Asked.MEMORY, environment={"SLURM_JOB_ID": "7"}) == Setting("--mem", 8 * GIB)
    assert asked(Asked.CPUS, slurm={"state": "COMPLETED"}) == Setting("--cpus-per-task", 4.0)
    assert asked(Asked.GPUS, slurm={"gpus": 2}) == Setting("--gres", 2.0)
    assert asked(Asked.GPUS) is None


def test_cores_of_the_whole_machine_were_given_only_where_somebody_said_so() -> None:
    assert asked(Asked.CPUS, cases.limits(8, 16.0)) is None
    assert asked(Asked.CPUS, cases.limits(8, 16.0), limits={"cpus_source": "slurm"}) == Setting(
        "--cpus", 16.0
    )
    assert asked(Asked.CPUS, cases.limits(8)) is None


def test_a_time_limit_is_slurms_or_our_own() -> None:
    times = {"SLURM_JOB_START_TIME": "1000", "SLURM_JOB_END_TIME": "4600"}
    assert asked(Asked.TIME, environment=times) == Setting("--time", 3600.0)
    assert asked(Asked.TIME, slurm={"time_limit_seconds": 60}) == Setting("--time", 60.0)
    assert asked(Asked.TIME, options={"timeout": 90.0}) == Setting("--timeout", 90.0)
    assert asked(Asked.TIME, options={"timeout": True}, environment={"SLURM_JOB_END_TIME": "soon"}) is None
    assert asked(Asked.TIME, slurm={"time_limit_seconds": -1}) is None
