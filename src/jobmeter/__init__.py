"""jobmeter: know what a job really used, why it failed, and what to change next time."""

__version__ = "0.1.0"
