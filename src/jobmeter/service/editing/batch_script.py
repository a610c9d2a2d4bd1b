"""Settings changed in a batch script: `#SBATCH` lines, options and overrides of the command, variables.

What is asked of Slurm and not yet in the script is added below its other `#SBATCH` lines, a variable above the first
command. What can mislead: an option is changed wherever the script names it.
"""

import re

from jobmeter.service.editing import NotThereError

_SHORT = {"--cpus-per-task": "-c", "--time": "-t"}
_SAME = {"--memory": "--mem", "--cpus": "--cpus-per-task"}
"""What containers call it, and what Slurm does."""
_SLURM = ("--mem", "--cpus-per-task", "--time", "--gres", "--signal")
_AGAINST = {"--mem": ("--mem-per-cpu", "--mem-per-gpu")}
_QUOTED = r"""\"(?:[^"\\]|\\.)*\"|'[^']*'"""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def change(text: str, path: str, value: object) -> str:
    """Give the text with one setting changed."""
    wanted = str(value).lower() if isinstance(value, bool) else str(value)
    name = _SAME.get(path, path)
    if name in _SLURM:
        return _asked(text, name, wanted)
    if _VARIABLE.fullmatch(path):
        return _exported(text, path, wanted)
    return _option(text, path, wanted)


def _asked(text: str, name: str, wanted: str) -> str:
    names = "|".join(re.escape(one) for one in (name, _SHORT.get(name)) if one)
    line = re.compile(rf"^(#SBATCH[^#\n]*?\s)({names})(=|\s+|(?<=-[ct]))(?![=\s])(\S+)", re.MULTILINE)
    changed, count = line.subn(lambda found: f"{found[1]}{found[2]}{found[3]}{wanted}", text)
    if count:
        return changed
    for other in _AGAINST.get(name, ()):
        if re.search(rf"^#SBATCH.*\s{other}[=\s]", text, re.MULTILINE):
            raise NotThereError(f"it asks by {other}, which {name} would contradict")
    lines = text.splitlines(keepends=True)
    places = [place for place, one in enumerate(lines) if one.startswith("#SBATCH")]
    if not places:
        raise NotThereError(f"{name} is not in it, and no other #SBATCH line is")
    lines.insert(places[-1] + 1, f"#SBATCH {name}={wanted}\n")
    return "".join(lines)


def _exported(text: str, name: str, wanted: str) -> str:
    line = re.compile(rf"^(\s*(?:export\s+)?{name}=)(?:{_QUOTED}|[^\s;&|])*", re.MULTILINE)
    changed, count = line.subn(lambda found: f"{found[1]}{wanted}", text)
    if count:
        return changed
    lines = text.splitlines(keepends=True)
    place = next((at for at, one in enumerate(lines) if one.strip() and not one.startswith("#")), len(lines))
    lines.insert(place, f"export {name}={wanted}\n")
    return "".join(lines)


def _option(text: str, path: str, wanted: str) -> str:
    is_option = path.startswith("-")
    between = r"(=|[ \t]+)" if is_option else "(=)"
    option = re.compile(rf"(?<![\w.-])({re.escape(path)}){between}([^\s\\;|&]+)")
    changed, count = option.subn(lambda found: f"{found[1]}{found[2]}{wanted}", text)
    if not count:
        raise NotThereError(f"{path} is not in it")
    return changed
