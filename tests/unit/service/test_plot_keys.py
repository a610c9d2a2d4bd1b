"""Any recorded key can be plotted, in the unit the run itself defines."""

import pytest
from tests.support import views
from tests.support.views import counter, define, gauge, process

from jobmeter.errors import UsageError
from jobmeter.model.measurement import Kind, Scope, Unit
from jobmeter.model.panel import Quantity
from jobmeter.service import plotting


def test_keys_of_one_unit_share_a_panel() -> None:
    chart = plotting.describe(views.build_run(), keys=("cgroup_mem_current", "proc_count", "proc_rss_total"))
    assert [(made.title, made.quantity) for made in chart.panels] == [
        ("cgroup_mem_current, proc_rss_total", Quantity.BYTES),
        ("proc_count", Quantity.COUNT),
    ]


@pytest.mark.parametrize(
    ("unit", "quantity"),
    [
        (Unit.BYTES, Quantity.BYTES_PER_SECOND),
        (Unit.COUNT, Quantity.COUNT_PER_SECOND),
        (Unit.JOULES, Quantity.WATTS),
        (Unit.SECONDS, Quantity.SECONDS_PER_SECOND),
        (Unit.NONE, Quantity.PLAIN_PER_SECOND),
    ],
)
def test_a_counter_is_plotted_as_a_rate(unit: Unit, quantity: Quantity) -> None:
    view = views.view(
        [counter("wait_x", [(1, 4.0), (2, 8.0)], span=2.0)], (define("wait_x", Kind.COUNTER, unit),)
    )
    made = plotting.describe(view, keys=("wait_x",)).panels[0]
    assert made.quantity is quantity
    assert made.lines[0].values[1:] == (2.0, 4.0)


@pytest.mark.parametrize("unit", list(Unit))
def test_a_gauge_of_every_unit_can_be_plotted(unit: Unit) -> None:
    view = views.view([gauge("host_x", [(1, 4.0), (2, 8.0)])], (define("host_x", Kind.GAUGE, unit),))
    assert plotting.describe(view, keys=("host_x",)).panels[0].lines[0].values == (4.0, 8.0)


def test_cpu_time_is_plotted_in_cores() -> None:
    assert plotting.describe(views.build_run(), keys=("cgroup_cputime",)).panels[0].quantity is Quantity.CORES


def test_a_further_reduce_has_the_unit_of_its_key() -> None:
    series = [gauge("proc_mean_rss", [(1, 4.0), (2, 8.0)], "7@1"), gauge("proc_count", [(1, 1.0), (2, 1.0)])]
    chart = plotting.describe(views.view(series, (views.PROCESS_RSS,)), keys=("proc_mean_rss",))
    assert chart.panels[0].quantity is Quantity.BYTES
    assert chart.panels[0].lines[0].about == "what proc_rss means"


def test_a_key_without_a_definition_is_plotted_without_a_unit() -> None:
    chart = plotting.describe(views.view([gauge("odd", [(1, 4.0), (2, 8.0)])]), keys=("odd",))
    assert chart.panels[0].quantity is Quantity.PLAIN


def test_of_many_processes_the_largest_are_named_and_the_rest_counted() -> None:
    series = [gauge("proc_rss", [(1, float(n)), (2, 1.0)], f"{n}@1") for n in range(1, 10)]
    processes = [process("9@1", "python train.py"), process("8@1", "make")]
    chart = plotting.describe(
        views.view(series, (views.PROCESS_RSS,), processes=processes), keys=("proc_rss",)
    )
    assert [line.label for line in chart.panels[0].lines] == [
        "python train.py 9",
        "make 8",
        "7@1",
        "6@1",
        "5@1",
        "4@1",
    ]
    assert chart.notes == ("proc_rss: the largest 6 of 9 instances are shown",)


def test_an_unknown_key_is_refused_with_the_nearest_known() -> None:
    with pytest.raises(UsageError, match="key not recorded in this run: cgroup_mem_curent") as caught:
        plotting.describe(views.build_run(), keys=("cgroup_mem_curent",))
    assert caught.value.hint.startswith("did you mean cgroup_mem_current")


def test_an_unknown_key_like_no_other_is_refused_with_all_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        plotting.describe(views.view([gauge("proc_count", [(1, 1.0)])]), keys=("zzz",))
    assert caught.value.hint == "use one of proc_count"


def test_a_run_without_series_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        plotting.describe(views.view([]), keys=("zzz",))
    assert caught.value.hint == "this run recorded no series"


def test_words_cannot_be_plotted() -> None:
    command = define("proc_cmd", Kind.LABEL, Unit.NONE, Scope.PROCESS)
    view = views.view([gauge("proc_count", [(1, 1.0), (2, 1.0)])], (views.COUNT, command))
    with pytest.raises(UsageError, match="proc_cmd is a label, not a number over time"):
        plotting.describe(view, keys=("proc_cmd",))
