"""What con-duct notes of the machine, field for field; what it does not find is an empty text there."""

import os

_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")
_RELEASE = {
    "distro_id": "ID",
    "distro_id_like": "ID_LIKE",
    "distro_name": "NAME",
    "distro_version": "VERSION",
    "distro_version_id": "VERSION_ID",
    "distro_codename": "VERSION_CODENAME",
    "distro_variant_id": "VARIANT_ID",
    "distro_pretty_name": "PRETTY_NAME",
    "distro_build_id": "BUILD_ID",
}


def facts(release_files: tuple[str, ...] = _RELEASE_FILES) -> dict[str, object]:
    """Describe this machine as con-duct's `system`."""
    system = os.uname()
    release = _release(release_files)
    return {
        "cpu_total": os.sysconf("SC_NPROCESSORS_CONF"),
        "memory_total": os.sysconf("SC_PAGESIZE") * os.sysconf("SC_PHYS_PAGES"),
        "hostname": system.nodename,
        "uid": os.getuid(),
        "user": os.environ.get("USER") or _user_name(),
        "os_name": system.sysname,
        "os_release": system.release,
        "os_version": system.version,
        "arch": system.machine,
        "processor": "",
        **{ours: release.get(theirs, "") for ours, theirs in _RELEASE.items()},
    }


def _user_name() -> str | None:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return None  # a uid without an account, as in many containers


def _release(paths: tuple[str, ...]) -> dict[str, str]:
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                pairs = [line.strip().partition("=") for line in file if "=" in line]
        except OSError:
            continue  # not a freedesktop system, or the other of the two places
        return {name: value.strip("\"'") for name, _, value in pairs}
    return {}
