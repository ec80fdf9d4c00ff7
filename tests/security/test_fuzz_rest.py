"""Every operation of the OpenAPI document with generated requests: nothing breaks, and all is as documented.

`make fuzz` goes on for longer, with requests that differ each time.
"""

import pytest
from fuzz_budget import ROUND_SECONDS, SEED
from rest_fuzz import Budget, fuzz

from mcp_knowledge.settings import Settings

# Few, so that they take seconds: schemathesis derives some 40 requests an operation from its schema beside them.
EVERYTHING = Budget(examples=2)
GENERATED = Budget(examples=2, phases=("fuzzing",))
ROUND = Budget(examples=100, seconds=ROUND_SECONDS, seed=SEED, phases=("coverage", "fuzzing", "stateful"))


@pytest.mark.fuzz
@pytest.mark.both_databases
def test_no_request_breaks_anything_and_every_answer_is_as_documented(settings: Settings) -> None:
    budget = EVERYTHING if settings.database_driver == "sqlite" else GENERATED
    found = fuzz(settings, ROUND if ROUND_SECONDS else budget)
    assert not found.failures, found.report()
    assert found.requests > 100 and found.statuses[200] > 20  # else it has tried nothing
