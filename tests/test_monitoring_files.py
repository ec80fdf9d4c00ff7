"""The dashboard and the alarms of deploy/ name what the running program shows, and nothing else."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from front_door import add, running_client
from prometheus_client.parser import text_string_to_metric_families
from rest_kit import API

from mcp_knowledge.settings import Settings

DEPLOY = Path(__file__).parent.parent / "deploy"
DASHBOARD = DEPLOY / "grafana" / "mcp-knowledge.json"
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
SCRAPED = {"job", "instance"}  # labels that Prometheus gives
OF_PROMETHEUS = {"up"}
WORDS = {  # of PromQL
    *("sum", "max", "min", "count", "rate", "increase", "histogram_quantile", "topk", "by", "or", "vector", "time"),
    *("and", "on", "group_left", "ignoring"),
}
SELECTOR = re.compile(r"([a-z_]+)\{([^}]*)\}")
MATCHER = re.compile(r'([a-z_]+)(=~|!=|!~|=)"([^"]*)"')
GROUPING = re.compile(r"\bby \(([^)]*)\)")
UNITS = {"short", "s", "reqps", "ops", "percentunit", "bytes"}

Shown = dict[str, dict[str, set[str]]]


@pytest.fixture
async def shown(settings: Settings) -> Shown:
    """Each sample's name with its labels and their values, once the program has done something of everything."""
    async with running_client(settings) as client:
        await add(client, "a.md", b"# Title\n\nOne passage.")
        await add(client, "b.pdf", b"no PDF at all")
        for mode in ("hybrid", "vector", "lexical"):
            await client.post(f"{API}/search", json={"query": "passage", "mode": mode})
        call = {"name": "search_documents", "arguments": {"query": "passage"}}
        await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        text = (await client.get("/metrics")).text
    found: Shown = {"up": {}}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def expressions() -> list[str]:
    drawn = [target["expr"] for panel in panels() for target in panel.get("targets", ())]
    return drawn + [str(rule["expr"]) for rule in alerts()]


OUTAGES = {"500", "503"}  # statuses that nothing here can bring about


def faults_of(expression: str, shown: Shown) -> list[str]:
    """What an expression names that is not there."""
    faults, known = [], {*SCRAPED}
    for name, matchers in SELECTOR.findall(expression):
        if name not in shown:
            faults.append(f"no metric {name}")
            continue
        known |= shown[name].keys()
        for label, operator, value in MATCHER.findall(matchers):
            if label in SCRAPED:
                continue
            values = shown[name].get(label)
            if values is None:
                faults.append(f"{name} has no label {label}")
            elif operator == "=" and value not in values | {"INGESTION_FAILED"}:  # which nothing here can bring about
                faults.append(f"{label} of {name} is never {value}")
            elif operator == "=~" and not any(re.fullmatch(value, one) for one in values | OUTAGES):
                faults.append(f"{label} of {name} is never like {value}")
    for group in GROUPING.findall(expression):
        faults += [f"no label {label.strip()}" for label in group.split(",") if label.strip() not in known]
    rest = GROUPING.sub("", SELECTOR.sub("", expression))
    faults += [f"unknown {word}" for word in re.findall(r"[a-z_]{2,}", rest) if word not in WORDS | {"__rate_interval"}]
    return faults


def test_a_wrong_expression_is_noticed() -> None:
    shown: Shown = {"http_requests_total": {"status": {"200"}}}
    for wrong in (
        "sum(http_request_total{})",
        'sum(http_requests_total{code="200"})',
        'sum(http_requests_total{status="404"})',
        'sum by (route) (http_requests_total{status="200"})',
        "rat(http_requests_total{})",
    ):
        assert faults_of(wrong, shown), wrong
    assert not faults_of('sum by (status, job) (rate(http_requests_total{status="200"}[5m]))', shown)


async def test_every_expression_names_metrics_labels_and_values_that_there_are(shown: Shown) -> None:
    faults = {expression: faults_of(expression, shown) for expression in expressions()}
    assert not {expression: found for expression, found in faults.items() if found}


async def test_the_dashboard_draws_every_metric(shown: Shown) -> None:
    drawn = {name for expression in expressions() for name, _ in SELECTOR.findall(expression)}
    stems = {re.sub(r"_(bucket|count|sum|total|created)$", "", name) for name in drawn}
    own = {re.sub(r"_(bucket|count|sum|total|created)$", "", name) for name in shown if not _of_libraries(name)}
    assert own - stems == set()


def _of_libraries(name: str) -> bool:
    return name.startswith(("process_", "python_"))


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    data = json.loads(DASHBOARD.read_text())
    assert data["id"] is None and data["uid"] == "mcp-knowledge" and data["schemaVersion"] >= 36
    variables = {item["name"]: item for item in data["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource" and variables["datasource"]["query"] == "prometheus"
    assert set(variables) == {"datasource", "job", "instance"}
    ids = [panel["id"] for panel in data["panels"]]
    assert len(ids) == len(set(ids))
    taken: set[tuple[int, int]] = set()
    for panel in data["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert place["x"] + place["w"] <= 24 and not taken & cells, panel["title"]
        taken |= cells
        if panel["type"] == "row":
            continue
        assert panel["title"] and panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        references = [target["refId"] for target in panel["targets"]]
        assert references and len(references) == len(set(references))
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
            assert 'job=~"$job"' in target["expr"] and target["expr"].count("(") == target["expr"].count(")")
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= {*variables, "__rate_interval"}
        if panel["type"] == "table":
            continue
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        if panel["type"] == "timeseries":
            assert all(target["legendFormat"] for target in panel["targets"]), panel["title"]


def test_every_alarm_says_how_bad_it_is_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in alerts()}) == len(alerts()) >= 8
    for rule in alerts():
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"].endswith(".") and rule["annotations"]["description"].endswith(".")
        assert 'job="mcp-knowledge"' in rule["expr"]
    scraped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert [item["job_name"] for item in scraped["scrape_configs"]] == ["mcp-knowledge"]
    assert scraped["rule_files"] == [ALERTS.name]
