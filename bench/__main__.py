"""Measures everything and prints the table: ``python -m bench [--quick] [--write]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import machine
from bench.measure import FULL, QUICK, measure
from bench.report import into_readme, report


def main() -> int:
    """Returns the exit code: 0, whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny counts: shows that it works, measures nothing")
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    given = parser.parse_args()
    described = machine.describe()
    with TemporaryDirectory(prefix="capgate-bench-") as folder:
        text = report(measure(QUICK if given.quick else FULL, Path(folder)), described)
    print(text)
    if given.write:
        into_readme(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
