"""A builder, an installer or a runner of tests gives up: make, ninja, cargo, Gradle, Maven, npm, pip, CMake, pytest.

What misleads: it says that something failed, seldom what; the compiler said so before. `error:` in a compiler's words
alone proves nothing, because `configure` tries what does not compile; neither does what make was told to ignore.
"""

import re

from jobmeter.formats.errorlines.sign import LONGEST_MESSAGE, Passage, Sign

WORDS = ("error", "ninja: ", "failed", "failure", "make: ***", "]: ***")
_COMPILER = re.compile(
    r"^\S.{0,300}?:\d+(?::\d+)?: (?:fatal )?error: "
    r"|^error(?:\[E\d+\])?: (?!aborting|could not compile|failed to run|command )"
    r"|\(\d+(?:,\d+)?\): (?:fatal )?error [A-Z]+\d+: |^\s*undefined reference to |: undefined reference to "
    r"|^(?:E {3,}|\[ERROR\] (?:/|COMPILATION ERROR))"
)
_GAVE_UP = re.compile(
    r"^(?:\S*make|ninja)(?:\[\d+\])?: (?:\*\*\* (?:\[.*\] \S+ \d+$|.* Stop\.$)"
    r"|build stopped: |subcommand failed|error: )"
    r"|^error: (?:could not compile|aborting due to|failed to run custom build command|test failed, to rerun"
    r"|subprocess-exited-with-error|failed-wheel-build|failed to compile"
    r"|command .{1,300} failed with exit (?:status|code) )"
    r"|^FAILURE: Build failed|^BUILD FAILED\b|\] BUILD FAILURE$|^\S*(?:FAILED|ERROR): Build did NOT complete"
    r"|^npm (?:ERR!|error) (?:code E[A-Z]+|Failed at the |Exit status \d+)|^error Command failed with exit code"
    r"|^CMake Error(?: at |: )|^-- Configuring incomplete, errors occurred"
    r"|^ERROR: (?:No matching distribution found|Could not build wheels|Failed to build installable wheels"
    r"|failed to solve: )"
    r"|^E: (?:Unable to locate package|Sub-process .{0,80} returned an error)"
    r"|^=+ (?:\d+ \w+, )*[1-9]\d* (?:failed|errors?)\b.* in [\d.]+s|^test result: FAILED|^FAILED \((?:failures|errors)="
    r"|^Exiting because a job execution failed"
)


def read(passage: Passage) -> Sign | None:
    """Read that a build ended without what it was to build."""
    text, memory = passage.text, passage.memory
    if passage.exception is not None or passage.level in ("INFO", "DEBUG", "WARNING"):
        return None
    if _GAVE_UP.search(text) is None:
        if _COMPILER.search(text) is not None:
            memory.setdefault("build_error", text[:LONGEST_MESSAGE])
        return None
    said = str(memory.get("build_error", text))
    return Sign(type="build_failed", message=said, same="build_failed")
