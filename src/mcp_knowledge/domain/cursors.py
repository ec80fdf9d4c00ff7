"""Opaque page cursors: what a list needs to go on, signed so that no client can make or change one."""

import base64
import binascii
import hashlib
import hmac
import json
import re
from typing import Any

from mcp_knowledge.errors import KnowledgeError

SECRET_BYTES = 32
_SIGNATURE_BYTES = 16  # HMAC-SHA256 cut in half, the shortest that RFC 2104 section 5 advises
_URL_SAFE = re.compile(r"[A-Za-z0-9_-]+")  # the decoder alone would drop foreign characters in silence
_MAX_CHARS = 16_384


def bind(query: Any) -> str:
    """A short digest of a query, to carry in a cursor's payload so that it serves this query alone.

    Args:
        query: anything `json` can write; the order of keys does not matter.
    """
    text = json.dumps(query, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def secret_from(setting: str) -> bytes:
    """The signing key that a setting has as the base64 of 32 bytes.

    Raises:
        ValueError: the setting is not the base64 of exactly 32 bytes. The message never shows its value.
    """
    try:
        altchars = b"-_" if {"-", "_"} & set(setting) else None
        secret = base64.b64decode(setting.strip().encode(), altchars=altchars, validate=True)
    except (ValueError, binascii.Error):
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"DOCUMENT_CURSOR_SECRET must be the base64 of exactly {SECRET_BYTES} bytes")
    return secret


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class CursorSigner:
    """Makes and reads cursors.

    Args:
        secret: the HMAC key; processes that share it read one another's cursors.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def make(self, kind: str, payload: Any) -> str:
        """Sign a JSON value. `kind` names the list; a cursor of one kind is refused by every other."""
        body = json.dumps(payload, separators=(",", ":")).encode()
        return _encode(self._sign(kind, body) + body)

    def read(self, kind: str, cursor: str) -> Any:
        """The payload of a cursor that this key made for this kind.

        Raises:
            KnowledgeError: INVALID_CURSOR, for anything else.
        """
        if len(cursor) > _MAX_CHARS or not _URL_SAFE.fullmatch(cursor):
            raise KnowledgeError("INVALID_CURSOR")
        try:
            data = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        except binascii.Error:
            raise KnowledgeError("INVALID_CURSOR") from None
        signature, body = data[:_SIGNATURE_BYTES], data[_SIGNATURE_BYTES:]
        # The last character has spare bits: only the one spelling that `make` gives is ours.
        if not hmac.compare_digest(signature, self._sign(kind, body)) or _encode(data) != cursor:
            raise KnowledgeError("INVALID_CURSOR")
        return json.loads(body)

    def _sign(self, kind: str, body: bytes) -> bytes:
        message = kind.encode() + b"\0" + body
        return hmac.digest(self._secret, message, "sha256")[:_SIGNATURE_BYTES]
