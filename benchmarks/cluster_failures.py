"""Make a cluster fail in all ways, again and again, at random moments (root only): ``python benchmarks/cluster_failures.py``.

Nothing may be lost, little fetched again, nobody disturbed: see ``tests/bed/failures.py``. The same seed means the same choices,
but real processes: another run may go another way.
"""

from __future__ import annotations

import argparse
import sys
import time

from bed.failures import FAILURES, LARGE, SMALL


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=FAILURES, default=list(FAILURES))
    parser.add_argument("--times", type=int, default=20, help="each [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="of the first [%(default)s]")
    parser.add_argument("--small", action="store_true", help="1,000 pages, in the place of 10,000")
    parser.add_argument("--rate", type=float, help="requests a second to each host")
    given = parser.parse_args()
    size = SMALL if given.small else LARGE
    size = size._replace(rate=given.rate or size.rate)
    bad = 0
    for name in given.only:
        for seed in range(given.seed, given.seed + given.times):
            began = time.monotonic()
            try:
                told = FAILURES[name](seed, size)
            except AssertionError as error:
                bad += 1
                told = f"FAILED: {error}"
            print(f"{name}, {seed}: {told} ({time.monotonic() - began:.0f} s)", flush=True)
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
