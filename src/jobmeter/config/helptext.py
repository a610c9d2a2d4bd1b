"""The help of a recording command, rendered from its table of options."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmeter.config.options import Option


def render(usage: str, about: str, options: "Sequence[Option]") -> str:
    """Say what can be asked for."""
    rows = []
    for option in options:
        flags = ", ".join(option.flags) + (f" {option.metavar}" if option.metavar else "")
        rows.append(
            f"  {flags:<34} {option.help}" if len(flags) < 34 else f"  {flags}\n{'':<37}{option.help}"
        )
    return "\n".join(
        [
            f"usage: jobmeter {usage}",
            "",
            about,
            "",
            *rows,
            "",
            "Each option is also a variable (JOBMETER_SAMPLE_INTERVAL=0.5) and a key of /etc/jobmeter/config.toml,",
            "~/.config/jobmeter/config.toml or .jobmeter/config.toml; the nearest wins.",
            "Exit code: the job's own; 128+n for signal n; 124 timeout, 125 jobmeter failed, 126 not executable,",
            "127 not found.",
        ]
    )
