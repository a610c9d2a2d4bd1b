"""The phases of a curve."""

import numpy as np

from jobmeter.analysis import segments
from support import curves
from support.curves import GIB, MIB


def cut(values: curves.Values, every: float = 1.0) -> list[tuple[float, float]]:
    """Give begin and level in GiB of each phase."""
    found = segments.segments(curves.curve(curves.memory(values, every=every)))
    return [(round(one.begin - curves.STARTED), round(one.level / GIB, 1)) for one in found]


def test_a_flat_curve_is_one_phase() -> None:
    assert cut(GIB + curves.noise(300, 5 * MIB)) == [(0, 1.0)]
    assert cut(np.full(50, 7.0)) == [(0, 0.0)]


def test_a_step_cuts_where_it_is() -> None:
    assert cut(np.repeat([1.0 * GIB, 3.0 * GIB], [100, 200]) + curves.noise(300, 20 * MIB)) == [
        (0, 1.0),
        (100, 3.0),
    ]


def test_a_ramp_is_one_phase() -> None:
    values = np.concatenate([np.full(100, 1.0), np.linspace(1, 3, 100), np.full(100, 3.0)]) * GIB
    found = segments.segments(curves.curve(curves.memory(values + curves.noise(300, 20 * MIB))))
    assert len(found) == 3
    assert 0.015 < found[1].slope / GIB < 0.025
    assert abs(found[0].slope) / GIB < 0.001


def test_a_spike_does_not_cut_a_phase() -> None:
    values = np.full(300, 1.0 * GIB)
    values[100:104] = 5.0 * GIB
    values[-1] = 5.0 * GIB
    assert cut(values) == [(0, 1.0)]


def test_a_small_step_is_no_phase() -> None:
    assert cut(np.repeat([10.0 * GIB, 10.5 * GIB], [100, 100])) == [(0, 10.2)]


def test_a_load_that_wanders_has_few_phases() -> None:
    values = 8 * GIB + np.cumsum(curves.noise(5000, 0.2 * GIB))
    assert 2 <= len(cut(values)) <= segments.MOST_PHASES


def test_waves_are_cut_more_coarsely_until_few_phases_are_left() -> None:
    values = GIB * (4 + 3 * np.sin(np.arange(2400) / 30.0))
    assert len(cut(values)) <= segments.MOST_PHASES


def test_a_few_samples_are_enough() -> None:
    assert len(cut([1.0 * GIB] * 5)) == 1
    assert cut([1.0 * GIB] * 6 + [9.0 * GIB] * 6, every=60.0) == [(0, 1.0), (360, 9.0)]


def test_phases_cover_every_cell_once() -> None:
    curve = curves.curve(curves.memory(np.repeat([1.0, 4.0, 2.0], [333, 500, 224]) * GIB))
    found = segments.segments(curve)
    assert (found[0].first, found[-1].last) == (0, 1057)
    assert [one.last for one in found[:-1]] == [one.first for one in found[1:]]
    assert len(segments.fitted(found)) == 1057
