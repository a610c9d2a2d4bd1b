"""What a training script uses from inside: `jobmeter.init`, `run.log`, and callbacks for frameworks."""

from jobmeter.hooks.session import active_run, alert, event, finish, init, log

__all__ = ["active_run", "alert", "event", "finish", "init", "log"]
