"""Word files made in code."""

import io
import zipfile
from collections.abc import Callable
from typing import Any

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls


def make_docx(build: Callable[[Any], None]) -> bytes:
    """A Word file that `build` fills."""
    document = docx.Document()
    build(document)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def with_parts(data: bytes, parts: dict[str, bytes | None], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The package with parts replaced or added; None removes one."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", compression) as new:
        for name in old.namelist():
            if name not in parts:
                new.writestr(name, old.read(name))
        for name, part in parts.items():
            if part is not None:
                new.writestr(name, part)
    return buffer.getvalue()


def part_of(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return package.read(name)


def element(xml: str) -> Any:
    """An element of WordprocessingML, its namespace declared."""
    return parse_xml(xml.replace(">", f" {nsdecls('w')}>", 1))
