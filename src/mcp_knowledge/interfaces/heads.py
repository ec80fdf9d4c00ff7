"""The heads of requests: what is refused about them."""

from collections.abc import Iterator, Sequence

from mcp_knowledge.errors import KnowledgeError

MAX_HEAD_BYTES = 64 * 1024  # twice what common servers take; the parser itself would take without end
MAX_HEADERS = 100  # as Apache and gunicorn; browsers and proxies together send some 30

NOT_HTTP = "This is no valid HTTP request. Is every part of the address percent-encoded?"
_TOO_LARGE = f"The address and headers of a request may have {MAX_HEAD_BYTES:,} bytes, and {MAX_HEADERS} headers."
_CODING = "A body may come whole, or as Transfer-Encoding: chunked (HTTP/1.1), and not otherwise."

Headers = Sequence[tuple[bytes, bytes]]  # names in lower case, and values


def too_large() -> KnowledgeError:
    """The refusal of a head that is too large."""
    return KnowledgeError("REQUEST_HEAD_TOO_LARGE", _TOO_LARGE)


def fault_of_head(method: bytes, target: bytes, version: str, headers: Headers) -> KnowledgeError | None:
    """Why a complete head is refused; None: it is not.

    Args:
        target: what is asked for, as it came.
        version: of HTTP, such as "1.1".
    """
    if len(target) + sum(len(name) + len(value) for name, value in headers) > MAX_HEAD_BYTES:
        return too_large()
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    if codings and (codings != [b"chunked"] or version != "1.1"):
        return KnowledgeError("INVALID_REQUEST", _CODING)  # we and a proxy might see different ends
    return KnowledgeError("INVALID_REQUEST", NOT_HTTP) if method == b"CONNECT" else None


def head_without_upgrade(method: bytes, target: bytes, version: str, headers: Headers) -> bytes:
    """The bytes of a head as if it offered no other protocol."""
    lines = [b"%s %s HTTP/%s" % (method, target, version.encode())]
    lines += [b"%s: %s" % header for header in _without_upgrade(headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _without_upgrade(headers: Headers) -> Iterator[tuple[bytes, bytes]]:
    for name, value in headers:
        if name == b"connection":
            tokens = (token.strip() for token in value.split(b","))
            yield name, b", ".join(token for token in tokens if token.lower() != b"upgrade")
        elif name != b"upgrade":
            yield name, value
