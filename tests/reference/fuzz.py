"""A long run: random overlays and descriptors until the time or the count is up.

    python tests/reference/fuzz.py --seed 7 --minutes 30
    python tests/reference/fuzz.py --seed 7 --rulesets 2000

A difference is shrunk and written to tests/corpus/differences, where the test suite replays it. The
exit code is 1 if there was one.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.comparison import first_difference, save, shrink

__all__ = ["CORPUS", "main"]

CORPUS = Path(__file__).parents[1] / "corpus" / "differences"
#: So many differences end a run: they are likely to be the same few mistakes.
ENOUGH = 10


def main() -> int:
    """Runs from the command line."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--seed", default=str(time.time_ns()), help="what the run is drawn from; printed, for a repeat")
    reader.add_argument("--minutes", type=float, default=None, help="stop after this time")
    reader.add_argument("--rulesets", type=int, default=None, help="stop after this many overlays")
    reader.add_argument("--descriptors", type=int, default=50, help="descriptors for each overlay")
    given = reader.parse_args()
    if given.minutes is None and given.rulesets is None:
        given.minutes = 5.0
    print(f"seed {given.seed}")
    began = time.monotonic()
    done = found = 0
    rulesets = given.rulesets or sys.maxsize
    until = began + given.minutes * 60 if given.minutes else float("inf")
    while found < ENOUGH and done < rulesets and time.monotonic() < until:
        result = first_difference(Random(f"{given.seed}/{done}"), given.descriptors)
        done += 1
        if result is not None:
            found += 1
            case, difference = shrink(*result)
            print(f"overlay {given.seed}/{done - 1}: {difference.kind}: {save(case, difference, CORPUS)}")
            print(f"  gate:      {difference.gate}\n  reference: {difference.reference}", flush=True)
    seconds = time.monotonic() - began
    print(f"{done} overlays, {done * given.descriptors} pairs, {found} differences in {seconds:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
