"""The machine as con-duct notes it."""

import os
from pathlib import Path

from jobmeter.compat import duct_system


def test_the_distribution_comes_from_os_release(tmp_path: Path) -> None:
    file = tmp_path / "os-release"
    file.write_text(
        "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID='12'\n# a comment\n"
    )
    facts = duct_system.facts((str(tmp_path / "missing"), str(file)))
    assert facts["distro_id"] == "debian"
    assert facts["distro_pretty_name"] == "Debian GNU/Linux 12 (bookworm)"
    assert facts["distro_version_id"] == "12"
    assert facts["distro_codename"] == ""
    assert facts["os_name"] == os.uname().sysname
    assert facts["uid"] == os.getuid()
    assert len(facts) == 19


def test_without_os_release_the_fields_are_empty_texts() -> None:
    facts = duct_system.facts(())
    assert {facts[name] for name in facts if name.startswith("distro_")} == {""}
