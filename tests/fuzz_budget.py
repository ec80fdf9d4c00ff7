"""How much generated tests try: the same few things in every run of the suite, ever new ones in `make fuzz`."""

import os

from hypothesis import HealthCheck, settings

# Seconds that one round of `make fuzz` gives each test of the REST fuzzer; not set in the suite.
ROUND_SECONDS = int(os.environ.get("FUZZ_ROUND_SECONDS", "0"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
_MORE = 20  # times as many examples, in a round


def tries(examples: int) -> settings:
    """Settings of hypothesis for a test that talks to a server."""
    return settings(
        max_examples=examples * (_MORE if ROUND_SECONDS else 1),
        derandomize=not ROUND_SECONDS,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
