"""The stylesheets, scripts and the icon: served from memory, compressed, under addresses that follow their content."""

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from mcp_knowledge.errors import KnowledgeError

STATIC = Path(__file__).parent / "static"
_KEPT_FILES = 128
_NAME = re.compile(r"[a-z0-9-]{1,60}\.(?:css|js|svg)")
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_A_YEAR = "public, max-age=31536000, immutable"
_SMALL_BYTES = 1000  # below this, compressing saves less than a packet

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent; `packed` is its gzip form, None where that is no shorter."""

    content: bytes
    packed: bytes | None
    media_type: str
    digest: str

    @property
    def version(self) -> str:
        """What the address of this very content carries."""
        return self.digest[:10]


def static_url(name: str) -> str:
    """The address of a static file. It changes with the file's content, so a browser may keep what it has for ever."""
    return f"/static/{name}?v={_file(name).version}"


@router.get("/static/{name}")
@router.head("/static/{name}")
async def send_file(request: Request, name: str) -> Response:
    """A file that the address of just this version keeps for a year, and that any other address asks about again: a
    page of another version, while processes are replaced one by one, must not have browsers keep this one for it.
    """
    file = _file(name)
    tag = f'"{file.digest}"'
    headers = {
        "Cache-Control": _A_YEAR if request.query_params.get("v") == file.version else "no-cache",
        "ETag": tag,
        "Vary": "Accept-Encoding",
    }
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = file.content
    if file.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["Content-Encoding"] = file.packed, "gzip"
    return Response(content, headers=headers, media_type=file.media_type)


def _file(name: str) -> StaticFile:
    """Raises NOT_FOUND."""
    path = STATIC / name
    if not _NAME.fullmatch(name) or not path.is_file():
        raise KnowledgeError("NOT_FOUND")
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(_KEPT_FILES)
def _read(path: Path, changed_ns: int) -> StaticFile:
    """The file as it was at that moment: who works on a stylesheet sees it change without a restart."""
    content = path.read_bytes()
    packed = gzip.compress(content, mtime=0) if len(content) > _SMALL_BYTES else content
    digest = hashlib.sha256(content).hexdigest()
    return StaticFile(content, packed if len(packed) < len(content) else None, _MEDIA_TYPES[path.suffix], digest)
