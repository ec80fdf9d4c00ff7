"""Fuzz for a while: `make fuzz MINUTES=10`. Rounds of the tests marked `fuzz`, each with a seed of its own.

Both databases take their turn in every round. The first round that finds something ends it, and its seed is printed.
"""

import argparse
import os
import random
import subprocess
import sys
import time

ROUND_SECONDS = 60  # for each fuzzer that takes a time, the others try 20 times what the suite does


def main() -> int:
    """Exit code 1 when something was found."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--seed", type=int, help="one round with this seed, as an earlier one printed it")
    arguments.add_argument("--only", default="", help="only tests that match, as pytest's -k")
    given = arguments.parse_args()
    end = time.monotonic() + 60 * given.minutes
    done = 0
    while not done or (time.monotonic() < end and given.seed is None):
        seed = random.randrange(2**31) if given.seed is None else given.seed
        print(f"Round {done + 1}, seed {seed}", flush=True)
        if not _round(seed, given.only):
            print(f"Found something: make fuzz SEED={seed} goes through this round again.")
            return 1
        done += 1
    print(f"{done} rounds, nothing found.")
    return 0


def _round(seed: int, only: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-m", "fuzz", "--tb=short", f"--hypothesis-seed={seed}", "tests"]
    environment = {"FUZZ_ROUND_SECONDS": str(ROUND_SECONDS), "FUZZ_SEED": str(seed)}
    return subprocess.run([*command, "-k", only], env={**os.environ, **environment}).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
