"""OpenDocument texts made in code."""

import io
import zipfile

_NAMES = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "form": "urn:oasis:names:tc:opendocument:xmlns:form:1.0",
    "meta": "urn:oasis:names:tc:opendocument:xmlns:meta:1.0",
    "dc": "http://purl.org/dc/elements/1.1/",
    "xlink": "http://www.w3.org/1999/xlink",
    "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
}
_SPACE = " ".join(f'xmlns:{prefix}="{name}"' for prefix, name in _NAMES.items())
MIME_TYPE = "application/vnd.oasis.opendocument.text"


def make_odt(body: str, styles: str = "", meta: str = "", extra: dict[str, bytes] | None = None) -> bytes:
    """A package with this content in `office:text`, these automatic styles and this `office:meta`."""
    content = (
        f"<office:document-content {_SPACE}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    parts = {
        "mimetype": MIME_TYPE.encode(),
        "content.xml": content.encode(),
        "meta.xml": f"<office:document-meta {_SPACE}><office:meta>{meta}</office:meta></office:document-meta>".encode(),
        "META-INF/manifest.xml": b"<manifest:manifest "
        b'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        **(extra or {}),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for name, part in parts.items():
            package.writestr(name, part)
    return buffer.getvalue()
