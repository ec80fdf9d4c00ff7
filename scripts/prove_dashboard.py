"""Prove the dashboard and the alarms of deploy/ against a real Prometheus: every panel has data, every rule is healthy.

Starts a server on an empty data directory and Prometheus beside it, gives the server something to do, and asks
Prometheus for the expression of every panel. Needs `prometheus` (2.40 or later) on the PATH.

    PYTHONPATH=tests python scripts/prove_dashboard.py     exit 1 and a line for each panel or rule without data
"""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import yaml
from front_door import Server, wait_until

DEPLOY = Path(__file__).parent.parent / "deploy"
_SCRAPE_S = 1
_BUSY_S = 20.0
_VARIABLES = {"$job": "mcp-knowledge", "$instance": ".*", "$__rate_interval": "15s"}


def expressions() -> Iterator[tuple[str, str]]:
    """Title and expression of every target of the dashboard."""
    dashboard = json.loads((DEPLOY / "grafana" / "mcp-knowledge.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in _VARIABLES.items():
                expression = expression.replace(name, value)
            yield panel["title"], expression


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[str]:
    """Prometheus scraping the target; its address."""
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": f"{_SCRAPE_S}s", "evaluation_interval": f"{_SCRAPE_S}s"}
    config["rule_files"] = [str(DEPLOY / "prometheus" / "alerts.yml")]
    config["scrape_configs"][0]["static_configs"] = [{"targets": [target]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'series'}",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait()


def be_busy(server: Server, seconds: float) -> None:
    """Documents good and bad, searches, tools, mistakes."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        number += 1
        receipt = server.upload(
            f"{number}.md", f"# Paper {number}\n\nAbout harbours and tides, part {number}.".encode()
        )
        server.upload(f"{number}.pdf", f"no PDF {number}".encode())
        for mode in ("hybrid", "vector", "lexical"):
            server.request("POST", "/api/v1/search", json={"query": "harbours", "mode": mode})
        for arguments in ({"query": "tides"}, {"limit": 1}):
            call = {"name": "search_documents", "arguments": arguments}
            server.request("POST", "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        server.request("GET", "/api/v1/documents/doc_none")
        if number % 5 == 0:
            server.wait_finished(receipt["id"])
            server.request("DELETE", f"/api/v1/documents/{receipt['id']}")


def asked(address: str, path: str, **params: str) -> Any:
    """The data of one answer of Prometheus's."""
    return httpx2.get(f"{address}/api/v1/{path}", params=params, timeout=10).raise_for_status().json()["data"]


def faults(address: str) -> list[str]:
    """Panels without data, and rules that cannot be evaluated."""
    found = []
    for title, expression in expressions():
        values = [item["value"][1] for item in asked(address, "query", query=expression)["result"]]
        print(f"{'ok' if values else '--':<3} {title}: {len(values)} series, such as {values[:2]}")
        if not values or "NaN" in values:
            found.append(f"{title}: {expression}")
    for group in asked(address, "rules")["groups"]:
        found += [f"{rule['name']}: {rule['lastError']}" for rule in group["rules"] if rule["health"] != "ok"]
        print("rules", {rule["name"]: rule["state"] for rule in group["rules"]})
    return found


def main() -> int:
    """Run the proof; the exit code."""
    if shutil.which("prometheus") is None:
        print("prometheus is not installed")
        return 1
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name) / "data").start()
        try:
            with prometheus(Path(name), server.url.removeprefix("http://")) as address:
                wait_until(lambda: asked(address, "query", query="store_up")["result"] if _up(address) else None)
                be_busy(server, _BUSY_S)
                found = faults(address)
        finally:
            server.stop()
    print(*found, sep="\n")
    return 1 if found else 0


def _up(address: str) -> bool:
    try:
        return httpx2.get(f"{address}/-/ready", timeout=5).status_code == 200
    except httpx2.HTTPError:
        return False


if __name__ == "__main__":
    sys.exit(main())
