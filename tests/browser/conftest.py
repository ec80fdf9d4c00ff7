"""What every browser test starts from: a browser, a way to open windows, and a service without documents."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from visitors import RunningService, Visits, launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as running:
        yield running


@pytest.fixture
def visit(browser: Browser, server: RunningService) -> Iterator[Visits]:
    visits = Visits(browser, server.url)
    yield visits
    visits.close()


@pytest.fixture
def empty(server: RunningService) -> None:
    answer = server.request("POST", "/api/v1/documents/purge", json={"confirm": "purge"})
    assert answer.status_code == 200, answer.text
