"""Read runs back from a script: `jobmeter.Api().runs()[0].history()`."""


class Api:
    """The runs of one home."""
