"""Schemathesis over our OpenAPI document: every operation of the real application with requests, good and bad.

Beside what schemathesis itself looks for, every answer must be one of ours: see `spoken_for`.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from leaks import LEAKS
from schemathesis import Case, CheckContext, HookContext, Response
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import Failure
from schemathesis.engine import Status, events, from_schema
from schemathesis.python import asgi
from schemathesis.python.asgi import ASGIApp
from schemathesis.schemas import BaseSchema

from mcp_knowledge.app import create_app
from mcp_knowledge.errors import ERROR_CODES
from mcp_knowledge.settings import Settings

BASE_URL = "http://127.0.0.1"
API = f"{BASE_URL}/api/v1"
HANG_S = 30  # far more than any answer takes, also on a machine with other work
PURGE, FROM_URL = "/api/v1/documents/purge", "/api/v1/documents/from-url"
GUIDE = "# Guide\n\n" + "On invoices INV-0042 and the harbour's motors. " * 60 + "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
CORPUS = {
    "guide.md": GUIDE,
    "notes.txt": "Otters swim in the harbour. " * 30,
    "rows.csv": "name,year\notter,2024\n",
}
METADATA = '{"year": 2024, "team": "audit", "tags": ["a", "b"], "nested": {"deep": null}}'
# What the schema language cannot say of a well-formed request: which cursors, addresses, file formats and names, lines
# of a file, and values deep within metadata are good ones.
BEYOND_SCHEMAS = {
    *("INVALID_CURSOR", "SSRF_BLOCKED", "DOCUMENT_UNSUPPORTED_FORMAT", "INVALID_UPLOAD", "INVALID_METADATA"),
}
OF_ITS_OWN_KIND = re.compile(r"/from-url$|/import$|/cases/|/document-catalog$")  # these say more in INVALID_ARGUMENT
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


@dataclass
class Fuzzed:
    """What a run did, and what it found: one line a kind of failure, with a request that shows it."""

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    failures: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def report(self) -> str:
        """All failures, to be read by people."""
        return "\n\n".join(f"{' | '.join(kind)}\n{example}" for kind, example in self.failures.items())


@dataclass(frozen=True)
class Budget:
    """How much to try.

    Args:
        examples: generated requests an operation, beside those that schemathesis derives from each schema.
        seconds: go on with new ones until then; None: one round, always the same.
    """

    examples: int
    seconds: int | None = None
    seed: int = 1
    phases: tuple[str, ...] = ("examples", "coverage", "fuzzing")


def fuzz(settings: Settings, budget: Budget) -> Fuzzed:
    """Run the application on a corpus of its own and fuzz it."""
    with _application(settings) as app:
        schema = _schema(app, budget)
        _keep_the_corpus(schema, _add_corpus(app))
        schema.hook("filter_failure")(_keep_what_counts)
        found = Fuzzed()
        for event in from_schema(schema).execute():
            _take(event, found)
        return found


@contextmanager
def _application(settings: Settings) -> Iterator[ASGIApp]:
    app = create_app(settings)

    async def bounded(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        async with asyncio.timeout(HANG_S):
            await app({**scope, "client": ("127.0.0.1", 50_000)}, receive, send)

    try:
        yield bounded
    finally:
        asgi.shutdown_lifespans()


def _schema(app: ASGIApp, budget: Budget) -> BaseSchema:
    config = SchemathesisConfig(seed=budget.seed, max_time=budget.seconds)
    project = config.projects.default
    project.update(base_url=BASE_URL, continue_on_failure=True)
    project.max_stream_events = 1
    project.generation.update(
        max_examples=budget.examples,
        deterministic=budget.seconds is None,
        database="none",
        with_security_parameters=False,
    )
    for phase in ("examples", "coverage", "fuzzing", "stateful"):
        project.phases.get_by_name(name=phase).enabled = phase in budget.phases
    project.phases.coverage.unexpected_methods = {"put", "query"}
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=config, headers={"Host": "127.0.0.1"})
    return schema.exclude(path_regex="/events$")  # answers without an end; followed in the tests of jobs


def _add_corpus(app: ASGIApp) -> set[str]:
    """Documents to find, and everything else that an id can name; the ids."""
    with asgi.get_client(app) as client:

        def made(path: str, **arguments: Any) -> str:
            answer = client.post(f"{API}{path}", **arguments)
            assert answer.ok, answer.text
            data = answer.json()
            return str(data.get("id") or data["items"][0]["id"])

        shelf = made("/collections", json={"name": "Shelf"})
        filing = {"collectionId": shelf, "metadata": METADATA}
        documents = [made("/documents", files={"file": item}, data=filing) for item in CORPUS.items()]
        questions = made("/evaluations", json={"name": "Questions"})
        judgement = {"query": "harbour", "documentId": documents[0], "verdict": "right"}
        judged = client.post(f"{API}/evaluations/{questions}/judgements", json=judgement)
        run = made(f"/evaluations/{questions}/runs", json={})
    return {shelf, *documents, questions, run, judged.json()["case"]["id"]}


def _keep_the_corpus(schema: BaseSchema, ids: set[str]) -> None:
    """Let no request through that takes away what the others look for, or that leaves this machine."""

    def filter_case(context: HookContext, case: Case[Any]) -> bool:
        if case.method == "DELETE" and ids & {str(value) for value in case.path_parameters.values()}:
            return False
        if case.path == PURGE:
            return case.body != {"confirm": "purge"}
        url = case.body.get("url") if case.path == FROM_URL and isinstance(case.body, dict) else None
        return not isinstance(url, str) or not url.startswith("http")

    schema.hook(filter_case)


def _take(event: Any, found: Fuzzed) -> None:
    if isinstance(event, events.NonFatalError):
        found.failures[(str(event.label), "error", event.info.title)] = str(event.info.message)
    recorder = getattr(event, "recorder", None)
    if recorder is None:
        return
    for interaction in recorder.interactions.values():
        found.requests += 1
        if interaction.response is not None:
            found.statuses[interaction.response.status_code] += 1
    for checks in recorder.checks.values():
        for check in checks:
            if check.status is Status.FAILURE and check.failure_info is not None:
                failure = check.failure_info.failure
                example = f"{failure.message}\n{check.failure_info.code_sample}"
                found.failures.setdefault((recorder.label, check.name, failure.title), example[:3000])


def _keep_what_counts(context: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
    """Whether a failure is one: a well-formed request may still name what is not there."""
    if failure.title not in ("Schema-valid request rejected", "Created resource not found"):
        return True
    code = json.loads(response.content)["error"]["code"]
    if failure.title == "Created resource not found":  # something else that the body names may be what is not there
        return case.method not in ("POST", "PUT", "PATCH") or not code.endswith("_NOT_FOUND")
    return code not in BEYOND_SCHEMAS and not (code == "INVALID_ARGUMENT" and OF_ITS_OWN_KIND.search(case.path))


@schemathesis.check
def spoken_for(context: CheckContext, response: Response, case: Case[Any]) -> None:
    """Every answer has a request id and safe headers; every failure is our envelope with a code that the documentation
    of this operation has, and neither shows anything from inside.
    """
    (request_id,) = response.headers["x-request-id"]
    assert REQUEST_ID.fullmatch(request_id), request_id
    assert response.headers["x-content-type-options"] == ["nosniff"]
    assert not LEAKS.search(repr(response.headers).encode()), response.headers
    if response.status_code < 400 or response.request.method == "HEAD" or not response.content:
        return
    assert response.headers["content-type"] == ["application/json"]
    assert not LEAKS.search(response.content), response.content
    told = json.loads(response.content)["error"]
    assert set(told) == {"code", "message", "requestId"} and told["requestId"] == request_id
    assert ERROR_CODES[told["code"]].status == response.status_code, told
    if told["code"] == "METHOD_NOT_ALLOWED" or case.method != response.request.method:
        return
    documented = case.operation.definition.raw["responses"][str(response.status_code)]["description"]
    assert told["code"] in documented.split(", "), f"{told['code']} is not documented: {documented}"
