import struct
from pathlib import Path

import pytest
from docx_files import make_docx
from hypothesis import given, settings
from hypothesis import strategies as st
from ole_files import make_ole
from parser_support import blocks_of, code_of, read, read_or_refuse

from mcp_knowledge.domain.blocks import Heading, ListBlock, Paragraph, Table

WORD_97 = (Path(__file__).parent / "fixtures" / "word97.doc").read_bytes()


def word_95(text: bytes, language: int = 0x0409, flags: int = 0) -> bytes:
    """A Word 95 file with this main text."""
    fib = bytearray(0x300)
    struct.pack_into("<HH2xHxxH", fib, 0, 0xA5DC, 104, language, flags)
    struct.pack_into("<II", fib, 0x18, len(fib), len(fib) + len(text))
    struct.pack_into("<I", fib, 0x34, len(text))
    return make_ole({"WordDocument": bytes(fib) + text})


def test_a_word_97_file_is_read_without_hidden_deleted_and_repeated_text() -> None:
    document = read(WORD_97, "pond.doc")
    assert document.title == "Pond report"
    assert document.metadata["author"] == "Ann"
    assert document.metadata["created"] == "2013-12-23T23:15:00Z"
    assert list(document.blocks) == [
        Heading(1, "Ducks"),
        Paragraph("A bold claim inserted."),
        Paragraph("[Comment by Bob: Is it proven?]"),
        ListBlock(False, ("one", "two")),
        Table(("Name", "Size"), (("duck", "1"),)),
        Paragraph("Before the box."),
        Paragraph("Inside the box."),
        Paragraph("The end, Größe 5 µm – “fine”."),
    ]


def test_a_word_95_file_is_read_as_paragraphs() -> None:
    text = b"Title\rCaf\xe9 \x13 HYPERLINK x \x14link\x15\rName\x07Size\x07\x07duck\x071\x07\x07End\r"
    assert blocks_of(word_95(text), "a.doc") == [
        Paragraph("Title"),
        Paragraph("Café link"),
        Paragraph("Name | Size"),
        Paragraph("duck | 1"),
        Paragraph("End"),
    ]
    assert blocks_of(word_95("Привет\r".encode("cp1251"), language=0x0419), "a.doc") == [Paragraph("Привет")]


def test_bytes_decide_which_office_program_a_file_is_from() -> None:
    assert blocks_of(WORD_97, "a.xls")[0] == Heading(1, "Ducks")
    assert blocks_of(WORD_97, "a.txt")[0] == Heading(1, "Ducks")
    modern = make_docx(lambda document: document.add_paragraph("modern"))
    assert blocks_of(modern, "a.doc") == [Paragraph("modern")]


@pytest.mark.parametrize(
    ("streams", "code"),
    [
        ({"EncryptedPackage": b"x", "EncryptionInfo": b"x"}, "DOCUMENT_ENCRYPTED"),
        ({"encryptedpackage": b"x"}, "DOCUMENT_ENCRYPTED"),
        ({"\tDRMContent": b"x", "WordDocument": b"x"}, "DOCUMENT_ENCRYPTED"),
        ({"WordDocument": struct.pack("<H8xH", 0xA5EC, 0x0100)}, "DOCUMENT_ENCRYPTED"),
        ({"WordDocument": struct.pack("<H8xH", 0xA5DC, 0x0100)}, "DOCUMENT_ENCRYPTED"),
        ({"Workbook": struct.pack("<HH4xHH", 0x809, 4, 0x2F, 0)}, "DOCUMENT_ENCRYPTED"),
        ({"Book": struct.pack("<HH4xHH", 0x809, 4, 0x2F, 0)}, "DOCUMENT_ENCRYPTED"),
        ({"PowerPoint Document": b"x", "Current User": struct.pack("<12xI", 0xF3D1C4DF)}, "DOCUMENT_ENCRYPTED"),
        ({"Something else": b"x"}, "DOCUMENT_MALFORMED"),
        ({"object/EncryptedPackage": b"x"}, "DOCUMENT_MALFORMED"),
        ({"object/WordDocument": b"x"}, "DOCUMENT_MALFORMED"),
    ],
)
def test_encryption_is_told_by_each_programs_own_flag(streams: dict[str, bytes], code: str) -> None:
    assert code_of(make_ole(streams), "a.doc") == code


def test_truncated_files_and_programs_are_malformed() -> None:
    for size in (0, 8, 512, 1024):
        assert code_of(WORD_97[:size], "a.doc") == "DOCUMENT_MALFORMED"
    assert code_of(b"MZ\x90\x00" + bytes(300), "a.doc") == "DOCUMENT_MALFORMED"


@given(st.integers(0, len(WORD_97) - 1), st.binary(min_size=1, max_size=16))
@settings(deadline=None)
def test_flipped_bytes_never_raise_anything_but_a_coded_error(start: int, damage: bytes) -> None:
    read_or_refuse(WORD_97[:start] + damage + WORD_97[start + len(damage) :], "a.doc")


@given(st.integers(0, 0x300), st.binary(min_size=1, max_size=16))
@settings(deadline=None)
def test_a_damaged_file_information_block_never_raises_anything_but_a_coded_error(at: int, damage: bytes) -> None:
    for original in (WORD_97, word_95(b"a\rb\r", flags=4)):
        place = original.find(b"\xec\xa5" if original is WORD_97 else b"\xdc\xa5") + at
        read_or_refuse(original[:place] + damage + original[place + len(damage) :], "a.doc")
