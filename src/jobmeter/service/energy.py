"""The energy of a run and, where a price was configured when it was recorded, what it cost."""

from jobmeter.aggregation import energy
from jobmeter.model.run import Run


def account(run: Run) -> dict[str, object] | None:
    """Lay out a run's energy with its parts and their methods; None where nothing measured it."""
    options = run.context.get("options")
    price = options.get("energy_price") if isinstance(options, dict) else None
    return energy.account(run.summary, price if isinstance(price, str) else None)


def joules(amount: float) -> str:
    """Write an amount of energy."""
    return energy.scaled_joules(amount)


def sentence(run: Run) -> str:
    """Say a run's energy in a few words; empty where nothing measured it."""
    return energy.sentence(account(run) or {})
