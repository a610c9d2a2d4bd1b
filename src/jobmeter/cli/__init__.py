"""One file per command; thin: parse, call a service, print."""

COMMANDS: dict[str, str] = {
    "alerts": "jobmeter.cli.alerts",
    "analyze": "jobmeter.cli.analyze",
    "bundle": "jobmeter.cli.bundle",
    "campaign": "jobmeter.cli.campaign",
    "check": "jobmeter.cli.check",
    "collect": "jobmeter.cli.collect",
    "compare": "jobmeter.cli.compare",
    "doctor": "jobmeter.cli.doctor",
    "export": "jobmeter.cli.export",
    "gc": "jobmeter.cli.gc",
    "grafana": "jobmeter.cli.grafana",
    "import": "jobmeter.cli.import_",
    "logs": "jobmeter.cli.logs",
    "ls": "jobmeter.cli.ls",
    "measurements": "jobmeter.cli.measurements",
    "plot": "jobmeter.cli.plot",
    "pp": "jobmeter.cli.pp",
    "push": "jobmeter.cli.push",
    "ranks": "jobmeter.cli.ranks",
    "report": "jobmeter.cli.report",
    "rm": "jobmeter.cli.rm",
    "serve": "jobmeter.cli.serve",
    "show": "jobmeter.cli.show",
    "size": "jobmeter.cli.size",
    "steps": "jobmeter.cli.steps",
    "tag": "jobmeter.cli.tag",
    "token": "jobmeter.cli.token",
    "top": "jobmeter.cli.top",
    "ui": "jobmeter.cli.ui",
}

RECORDING: dict[str, str] = {
    "attach": "jobmeter.cli.attach",
    "duct": "jobmeter.compat.duct",
    "run": "jobmeter.cli.run",
}
"""Commands that parse their own arguments, because the job's command line follows: `main(argv)`."""
