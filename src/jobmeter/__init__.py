"""jobmeter: know what a job really used, why it failed, and what to change next time.

`import jobmeter` costs next to nothing: what a training script uses is loaded when it is first asked for.
"""

__version__ = "0.1.0"

_HOOKS = ("alert", "event", "finish", "init", "log")


def __getattr__(name: str) -> object:
    if name in _HOOKS:
        # by its name: what records imports this module too, and must not depend on the hooks
        found: object = getattr(__import__("jobmeter.hooks.session", fromlist=[name]), name)
    elif name == "run":
        return __import__("jobmeter.hooks.session", fromlist=[name]).active_run()
    elif name in ("Api", "Run"):
        module = f"jobmeter.hooks.{name.lower()}"
        found = getattr(__import__(module, fromlist=[name]), name)
    else:
        raise AttributeError(f"module 'jobmeter' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOOKS, "Api", "Run", "run"])
