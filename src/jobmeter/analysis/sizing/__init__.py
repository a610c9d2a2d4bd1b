"""How much to ask for next time: several small predictors, chosen for each job by what they would have cost."""

from collections.abc import Callable

from jobmeter.analysis.sizing import inputs, peaks
from jobmeter.analysis.sizing.past import Past

Predictor = Callable[[Past], float]
InputPredictor = Callable[[Past, float], float]

PREDICTORS: dict[str, Predictor] = {
    "largest": peaks.largest,
    "largest of the last 5": peaks.largest_lately,
    "largest of the last 20": peaks.largest_of_late,
    "95th percentile": peaks.nearly_all,
    "80th percentile": peaks.most,
    "mean + 2 sd": peaks.two_deviations,
    "decaying 90th percentile": peaks.decaying,
}
"""By the name people read; the first is taken until one has proved better."""

INPUT_PREDICTORS: dict[str, InputPredictor] = {
    "largest of the 3 nearest inputs": inputs.nearest_few,
    "largest of the 8 nearest inputs": inputs.nearest_several,
    "largest of like inputs": inputs.alike,
    "line": inputs.line,
    "line + 2 sd": inputs.line_two_deviations,
    "line above all": inputs.line_above_all,
    "power": inputs.power,
    "power above all": inputs.power_above_all,
}
"""Asked as well where the size of the next run's input is known."""
