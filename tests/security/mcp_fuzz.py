"""MCP messages as broken, confused and hostile clients might send them."""

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from mcp_values import JSON, arguments_for

from mcp_knowledge.interfaces.mcp.tools import tools_for
from mcp_knowledge.settings import Settings

TOOLS = tools_for(Settings.model_construct())
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
METHODS = (
    *("initialize", "ping", "tools/list", "resources/list", "resources/templates/list", "resources/subscribe"),
    *("prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "server/discover", "roots/list"),
    *("sampling/createMessage", "elicitation/create", "subscriptions/listen", "tasks/get", "tasks/list", "tools/drop"),
    *("notifications/initialized", "notifications/cancelled", "notifications/progress", "rpc.discover", "", "\0", "é"),
)
# What JSON readers differ about: put in the place of a value.
ODD_VALUES = (
    *("NaN", "-Infinity", "1e999", "-0", "1" * 5000, "0." + "1" * 5000, "01", "1.", "tru", "'a'", "// a\n1", "1,"),
    *(r'"\ud800"', r'"\udfff\ud800"', r'"\u0000"', '"\t"', '"\x7f"', '"' + "a" * 70_000 + '"', r'"\x41"', "undefined"),
    *("[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, "[" * 200_000, "{}", "[]", "null", "[null]"),
)
_MARK = "here goes an odd value"


@dataclass(frozen=True)
class Sent:
    """A request: its body, and headers beside or instead of the usual ones (None: left out)."""

    body: bytes
    headers: dict[str, str | None]


def ids() -> st.SearchStrategy[Any]:
    """Ids of requests, most of them good ones."""
    return st.integers(1, 2**31) | st.text(max_size=8) | st.sampled_from((0, -1, 2**70, 1.5, None, True, [], {})) | JSON


def params_of(ids_known: tuple[str, ...]) -> st.SearchStrategy[tuple[str, Any]]:
    """Methods with their parameters, near what they should be.

    Args:
        ids_known: of documents and chunks that exist.
    """
    known = st.sampled_from(ids_known)
    calls = st.sampled_from(sorted(TOOLS)).flatmap(
        lambda name: st.tuples(st.just(name), _with_ids(arguments_for(TOOLS[name].input_schema), known) | JSON)
    )
    uri = st.builds("document://{}{}".format, known | st.text(max_size=9), st.sampled_from(("", "/normalized", "/x")))
    chunk_uri = st.builds("document://{}/chunks/{}".format, known, known | st.text(max_size=9))
    return st.one_of(
        calls.map(lambda call: ("tools/call", {"name": call[0], "arguments": call[1]})),
        st.tuples(st.just("tools/call"), st.fixed_dictionaries({}, optional={"name": JSON, "arguments": JSON})),
        (uri | chunk_uri | JSON).map(lambda uri: ("resources/read", {"uri": uri})),
        (st.text(max_size=60) | JSON).map(lambda cursor: ("resources/list", {"cursor": cursor})),
        (st.sampled_from(VERSIONS) | JSON).map(lambda version: ("initialize", hello(version))),
        st.tuples(st.sampled_from(METHODS) | st.text(max_size=20), JSON),
        st.tuples(JSON, JSON),
    )


def hello(version: Any) -> dict[str, Any]:
    """The parameters of `initialize`."""
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def messages(ids_known: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """Messages as JSON values, well-formed more often than not."""

    def message(parts: tuple[tuple[str, Any], Any, bool]) -> dict[str, Any]:
        (method, params), number, modern = parts
        if modern and isinstance(params, dict):
            params = {**params, "_meta": META}
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    whole = st.tuples(params_of(ids_known), ids(), st.booleans()).map(message)
    lacking = st.tuples(whole, st.sets(st.sampled_from(("jsonrpc", "id", "method", "params")), max_size=2)).map(
        lambda pair: {name: value for name, value in pair[0].items() if name not in pair[1]}
    )
    answers = st.fixed_dictionaries(
        {"jsonrpc": st.sampled_from(("2.0", "1.0", 2)), "id": JSON}, optional={"result": JSON}
    )
    return st.one_of(whole, whole, whole, lacking, st.lists(whole, max_size=3), answers, JSON)


def texts(ids_known: tuple[str, ...]) -> st.SearchStrategy[bytes]:
    """Messages as bytes: spelled as JSON should be, in odd ways, or cut and changed."""
    plain = messages(ids_known).map(lambda message: json.dumps(message).encode())
    return st.one_of(plain, plain, _odd(ids_known), st.builds(_damaged, plain, st.integers(0), st.binary(max_size=4)))


def _odd(ids_known: tuple[str, ...]) -> st.SearchStrategy[bytes]:
    """One value of a well-formed message spelled oddly, or a name that stands there twice."""
    names = st.sampled_from(("query", "limit", "filters", "document_id", "block_cursor", "uri", "cursor", "name", "id"))

    def spelled(name: str, odd: str, tool: str, twice: bool, top: bool) -> bytes:
        arguments = {name: _MARK, **({} if name == "query" else {"query": "harbour"})}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        message |= {"params": {"name": tool, "arguments": arguments}, **({name: _MARK} if top else {})}
        text = json.dumps(message).replace(json.dumps(_MARK), odd)
        return (text.replace('"method"', '"id": 2, "method": "ping", "method"') if twice else text).encode()

    return st.builds(
        spelled, names, st.sampled_from(ODD_VALUES), st.sampled_from(sorted(TOOLS)), st.booleans(), st.booleans()
    )


def _damaged(text: bytes, place: int, put: bytes) -> bytes:
    """The text with something put over a place; with nothing to put: cut there."""
    place %= len(text) + 1
    return text[:place] + put + text[place + len(put) :] if put else text[:place]


def _with_ids(arguments: st.SearchStrategy[Any], known: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Arguments whose ids sometimes exist, and texts that find something."""

    def filled(pair: tuple[dict[str, Any], str, bool]) -> dict[str, Any]:
        given, found, good = pair
        better: dict[str, Any] = {name: found for name in ("document_id", "chunk_id") if good and name in given}
        return {**given, **better, **({"query": "harbour"} if good and "query" in given else {})}

    return st.tuples(arguments, known, st.booleans()).map(filled)


def requests(ids_known: tuple[str, ...]) -> st.SearchStrategy[Sent]:
    """Whole HTTP requests."""
    header = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=20)
    some: dict[str, st.SearchStrategy[str | None]] = {
        "Content-Type": st.sampled_from(
            ("application/json; charset=utf-16", "application/JSON", "text/plain", "", ";", None)
        ),
        "Accept": st.sampled_from(("text/event-stream", "application/json;q=0", "*/*", ",", "", None)),
        "MCP-Protocol-Version": st.sampled_from((*VERSIONS, "2031-01-01", "", "nonsense", "2025-06-18, 2025-06-18")),
        "Mcp-Method": st.sampled_from(("tools/call", "ping", "")),
        "Mcp-Name": st.sampled_from((*TOOLS, "")) | header,
        "Mcp-Session-Id": header,
        "Last-Event-ID": header,
        "Content-Encoding": st.sampled_from(("gzip", "br")),
    }
    return st.builds(Sent, texts(ids_known), st.just({}) | st.fixed_dictionaries({}, optional=some))
