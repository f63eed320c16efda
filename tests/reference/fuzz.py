"""A long run: random overlays and descriptors until the time or the count is up.

    python tests/reference/fuzz.py --seed 7 --minutes 30
    python tests/reference/fuzz.py --seed 7 --rulesets 2000

A difference is shrunk and written to tests/corpus/differences, where the test suite replays it. The
exit code is 1 if there was one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from capgate.policy.errors import CapgateError
from reference.comparison import Case, Difference, Judges, save, shrink, world_of
from reference.rulesets import overlay
from reference.shipped import shipped_stages

__all__ = ["differences_of_ruleset", "main"]

CORPUS = Path(__file__).parents[1] / "corpus" / "differences"


def differences_of_ruleset(seed: str, descriptors: int) -> tuple[Case, Difference] | None:
    """Judges many descriptors with one overlay, all drawn from `seed`; the first difference, as it was found."""
    random = Random(seed)
    made = overlay(random, shipped_stages())
    with tempfile.TemporaryDirectory() as folder:
        try:
            judges = Judges(made, Path(folder, "overlay"))
        except CapgateError as error:
            return Case(made, {}), Difference("does not load", str(error), None)
        for _ in range(descriptors):
            world = world_of(random)
            difference = judges.difference(*world)
            if difference is not None:
                return Case(made, *world), difference
    return None


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
    while (given.rulesets is None or done < given.rulesets) and (
        given.minutes is None or time.monotonic() - began < given.minutes * 60
    ):
        result = differences_of_ruleset(f"{given.seed}/{done}", given.descriptors)
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
