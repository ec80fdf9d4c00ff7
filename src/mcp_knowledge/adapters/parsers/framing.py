"""The messages between server and parser process: JSON behind a four-byte length.

JSON and not pickle, because a parser that a hostile file has taken over must not be able to run code in the server.
"""

import json
import struct
from typing import Any, BinaryIO

HEADER = struct.Struct(">I")
MAX_OVERHEAD_BYTES = 4 * 1024 * 1024  # of an answer beside its text: metadata, title, and framing
BLOCKS_PER_FRAME_CHARS = 32 * 1024  # decoding a frame of this size keeps the event loop for about a millisecond


def encode(message: dict[str, Any]) -> bytes:
    """A message as a frame."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return HEADER.pack(len(body)) + body


def send(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Write a message to a blocking stream at once."""
    stream.write(encode(message))
    stream.flush()


def read(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message of a blocking stream; None at its end."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    message: dict[str, Any] = json.loads(stream.read(HEADER.unpack(header)[0]))
    return message
