"""Runs mypy over every module of every package, and fails if it looked at fewer files than there are.

A folder that mypy does not find as a package passes unseen otherwise. The settings are in setup.cfg.
"""

from __future__ import annotations

import re
import subprocess
import sys

from tree import PACKAGE, ROOT, link_packages, modules


def main() -> int:
    """Returns the exit code: mypy's own, or 1 when files were left out."""
    link_packages(ROOT, ROOT / ".typing")
    mypy = subprocess.run(
        [sys.executable, "-m", "mypy", "--package", PACKAGE], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    print(mypy.stdout, end="")
    if mypy.returncode:
        return mypy.returncode
    summary = re.search(r"in (\d+) source files?", mypy.stdout)
    checked = int(summary[1]) if summary else 0
    expected = len(modules())
    if checked != expected:
        print(f"mypy checked {checked} files, but the packages hold {expected}: see `packages` in setup.cfg")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
