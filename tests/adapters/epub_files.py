"""EPUB files made in code."""

import io
import zipfile
from collections.abc import Mapping, Sequence

CONTAINER = (
    '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def page(body: str, title: str = "") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" '
        'xmlns:epub="http://www.idpf.org/2007/ops"><head><title>'
        f"{title}</title></head><body>{body}</body></html>"
    )


def opf(spine: Sequence[str], metadata: str = "", items: str = "", guide: str = "") -> str:
    """A package document whose spine holds these hrefs; `nav.xhtml` is the navigation."""
    listed = "".join(
        f'<item id="i{n}" href="{href}" media-type="application/xhtml+xml"'
        f"{' properties=' + chr(34) + 'nav' + chr(34) if href == 'nav.xhtml' else ''}/>"
        for n, href in enumerate(spine)
    )
    order = "".join(f'<itemref idref="i{n}"/>' for n in range(len(spine)))
    return (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata>{metadata}</metadata><manifest>{listed}{items}</manifest><spine>{order}</spine>"
        f"<guide>{guide}</guide></package>"
    )


def nav(links: Mapping[str, str]) -> str:
    rows = "".join(f'<li><a href="{href}">{label}</a></li>' for href, label in links.items())
    return page(f'<nav epub:type="toc"><h1>Contents</h1><ol>{rows}</ol></nav><nav epub:type="landmarks"></nav>')


def make_epub(parts: Mapping[str, str | bytes], container: str = CONTAINER) -> bytes:
    """A package of these parts (names below OEBPS unless they begin with a slash) and its container."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        package.writestr("META-INF/container.xml", container)
        for name, part in parts.items():
            package.writestr(name[1:] if name.startswith("/") else f"OEBPS/{name}", part)
    return buffer.getvalue()


def simple_epub() -> bytes:
    return make_epub({"book.opf": opf(["one.xhtml"]), "one.xhtml": page("<h1>One</h1><p>Some text of the book.</p>")})
