"""Frameworks are imported by their own file of `hooks` and by nothing else."""

import subprocess
import sys

FRAMEWORKS = "accelerate keras lightning pytorch_lightning torch transformers"


def test_opening_a_run_imports_no_framework() -> None:
    script = (
        "import sys, jobmeter; run = jobmeter.init(mode='disabled'); run.log({'loss': 1.0}); run.finish(); "
        f"print([name for name in {FRAMEWORKS!r}.split() if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr
