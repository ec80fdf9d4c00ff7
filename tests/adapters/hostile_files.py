"""Files that are made to break a limit: small to send, large or deep to read."""

import io
import random
import zipfile
from collections.abc import Callable, Iterator, Mapping

from docx_files import make_docx, part_of, with_parts
from epub_files import make_epub, opf, page
from pdf_files import text_page

_BLANKS = 24_000_000
_ENTRIES = 100_000
_OBJECTS = 1_000_000
_LEVELS = 200_000


def package(parts: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, part in parts.items():
            target.writestr(name, part)
    return buffer.getvalue()


def docx_bomb() -> bytes:
    """A Word file of a few kilobytes whose text inflates to many megabytes."""
    document = make_docx(lambda made: made.add_paragraph("text"))
    xml = part_of(document, "word/document.xml")
    return with_parts(document, {"word/document.xml": xml.replace(b"text", b"text" + b" " * _BLANKS)})


def epub_bomb() -> bytes:
    return make_epub({"book.opf": opf(["a.xhtml"]), "a.xhtml": page(f"<p>{' ' * _BLANKS}</p>")})


def odt_bomb() -> bytes:
    body = f"<office:text><text:p>{' ' * _BLANKS}</text:p></office:text>"
    return package({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": _open_document(body)})


def ods_bomb() -> bytes:
    body = f"<office:spreadsheet>{' ' * _BLANKS}</office:spreadsheet>"
    return package({"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": _open_document(body)})


def _open_document(body: str) -> str:
    return (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body>'
        f"{body}</office:body></office:document-content>"
    )


def workbook(sheet: str) -> bytes:
    """An Excel workbook of one sheet with these rows."""
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/xl/workbook.xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>'
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{}" '
        'Target="{}"/></Relationships>'
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return package(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": relations.format("officeDocument", "xl/workbook.xml"),
            "xl/_rels/workbook.xml.rels": relations.format("worksheet", "worksheets/sheet1.xml"),
            "xl/workbook.xml": f'<workbook xmlns="{main}" '
            'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
            '<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
        }
    )


def xlsx_bomb() -> bytes:
    return workbook(f'<row r="1"><c r="A1"><v>1</v></c></row>{" " * _BLANKS}')


def million_cells() -> bytes:
    """A thousand rows of a thousand numbers; drawn, so that it is no bomb."""
    draw = random.Random(1)
    rows = (
        f'<row r="{row}">{"".join(f"<c><v>{draw.random():.9f}</v></c>" for _ in range(1000))}</row>'
        for row in range(1, 1001)
    )
    return workbook("".join(rows))


def many_entries() -> bytes:
    """A Word file beside 100,000 empty entries."""
    buffer = io.BytesIO(make_docx(lambda made: made.add_paragraph("text")))
    with zipfile.ZipFile(buffer, "a") as target:
        for number in range(_ENTRIES):
            target.writestr(f"x/{number}", b"")
    return buffer.getvalue()


def laughs(levels: int = 12) -> str:
    """Entities that grow tenfold with each level."""
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, levels))
    return f'<!DOCTYPE r [<!ENTITY l0 "ha">{entities}]><r><m>&l{levels - 1};</m></r>'


def docx_with_laughs() -> bytes:
    document = make_docx(lambda made: made.add_paragraph("text"))
    xml = part_of(document, "word/document.xml").decode()
    declared = laughs().partition("<r>")[0].replace("DOCTYPE r", "DOCTYPE w:document")
    start = xml.index("<w:document")
    return with_parts(
        document, {"word/document.xml": (xml[:start] + declared + xml[start:].replace(">text<", ">&l11;<")).encode()}
    )


def million_objects() -> bytes:
    """A PDF of one page and a million objects that nothing refers to."""
    stream = text_page("One page among a million objects.").stream()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        *[b"null"] * _OBJECTS,
    ]
    pieces, offsets, at = [b"%PDF-1.4\n"], [], 9
    for number, content in enumerate(objects, 1):
        piece = b"%d 0 obj %s endobj\n" % (number, content)
        offsets.append(at)
        pieces.append(piece)
        at += len(piece)
    pieces.append(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    pieces.extend(b"%010d 00000 n \n" % offset for offset in offsets)
    pieces.append(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, at))
    return b"".join(pieces)


HOSTILE_FILES: dict[str, Callable[[], bytes]] = {
    "bomb.docx": docx_bomb,
    "bomb.epub": epub_bomb,
    "bomb.odt": odt_bomb,
    "bomb.ods": ods_bomb,
    "bomb.xlsx": xlsx_bomb,
    "entries.docx": many_entries,
    "laughs.docx": docx_with_laughs,
    "laughs.xml": lambda: laughs().encode(),
    "cells.xlsx": million_cells,
    "objects.pdf": million_objects,
    "deep.json": lambda: b'{"a":' * _LEVELS + b"1" + b"}" * _LEVELS,
    "deep.jsonl": lambda: b"[" * _LEVELS,
    "deep.html": lambda: b"<div>" * _LEVELS + b"text",
    "deep.xml": lambda: b"<a>" * _LEVELS + b"text" + b"</a>" * _LEVELS,
    "deep.eml": lambda: b"From: a@b\nSubject: x\n" + b"".join(_nested_mail(2_000)) + b"\ntext",
    "deep.md": lambda: b"> " * _LEVELS + b"text",
    "long.txt": lambda: b"word " * 4_000_000,
}


def _nested_mail(levels: int) -> Iterator[bytes]:
    return (b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(levels))


# What each comes to; None where it is harmless and may be read.
_HARMLESS = ("objects.pdf", "deep.md")
OUTCOMES = {name: None if name in _HARMLESS else "DOCUMENT_RESOURCE_LIMIT" for name in HOSTILE_FILES} | {
    "laughs.docx": "DOCUMENT_MALFORMED"  # no part of an Office file may declare a document type
}
