"""What `serve` says once it listens."""

import logging

import pytest

from mcp_knowledge.interfaces.cli.greeting import greet
from mcp_knowledge.settings import load_settings


@pytest.mark.parametrize(
    ("hosts", "passphrase", "warned"),
    [("docs.example.org", None, True), ("docs.example.org", "four or five words", False), ("", None, False)],
)
def test_who_lets_a_proxy_in_without_a_passphrase_is_warned(
    hosts: str, passphrase: str | None, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        greet(load_settings(_env_file=None, allowed_hosts=hosts, dashboard_passphrase=passphrase), "http://x", "data")
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == warned
    assert not warned or "DASHBOARD_PASSPHRASE" in warnings[0]
