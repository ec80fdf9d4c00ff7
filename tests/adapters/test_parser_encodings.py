import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_support import code_of, read

from mcp_knowledge.adapters.parsers.encodings import decode
from mcp_knowledge.domain.blocks import Paragraph
from mcp_knowledge.errors import KnowledgeError

GERMAN = "Größe und Maß: Die Übung war schön, sagte Jürgen über die Straße. " * 5
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5
JAPANESE = "これは日本語の文章です。検索の品質を確かめるために書きました。\n" * 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", [GERMAN, RUSSIAN, JAPANESE, "plain ASCII, nothing else"])
def test_unicode_is_read_with_and_without_a_mark(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)).text == text


@pytest.mark.parametrize("mark,encoding", [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")])
def test_a_byte_order_mark_is_not_part_of_the_text(mark: bytes, encoding: str) -> None:
    decoded = decode(mark + "Zoë".encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.guessed) == ("Zoë", encoding, False)


LEGACY = [
    (GERMAN, "cp1252"),
    (GERMAN, "latin-1"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8-r"),
    (JAPANESE, "shift_jis"),
    (JAPANESE, "euc_jp"),
    (JAPANESE, "iso2022_jp"),
]


@pytest.mark.parametrize(("text", "encoding"), LEGACY)
def test_legacy_encodings_are_detected(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


@pytest.mark.parametrize("text", ["naïve café", "Grüße aus Köln", "Señor Muñoz pagó 5 €", "Ångström"])
def test_short_western_text_is_not_taken_for_something_exotic(text: str) -> None:
    assert decode(text.encode("cp1252")).text == text


def test_a_declared_charset_wins_over_detection_but_not_over_utf8() -> None:
    assert decode("Łódź".encode("iso8859-2"), "iso-8859-2").text == "Łódź"
    assert decode("Łódź".encode(), "iso-8859-2").text == "Łódź"
    assert decode("Łódź".encode("cp1250"), "no-such-charset").guessed


def test_only_what_is_not_plain_utf8_leaves_a_trace_in_the_metadata() -> None:
    assert read("Zoë", "a.txt").metadata == {}
    assert read("Zoë".encode("utf-16"), "a.txt").metadata == {"encoding": "utf-16-le"}
    assert read(GERMAN.encode("cp1252"), "a.txt").metadata == {"encoding": "cp1252", "encodingGuessed": True}


def test_broken_utf8_is_read_with_replacements_and_says_so() -> None:
    document = read(("Grüße " * 200).encode() + b"\xff\xfe broken \xc3", "a.txt")
    assert "Grüße Grüße" in "".join(block.text for block in document.blocks if isinstance(block, Paragraph))
    assert document.metadata["encodingGuessed"] is True


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01" + bytes(200),
        b"MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00" + bytes(range(256)) * 4,
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 4,
        b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(range(256)) * 8,
        bytes(1000),
        b"\x1f\x8b\x08\x00" + bytes(range(255, 0, -1)) * 10,
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv", "a.json"])
def test_binary_files_with_a_text_name_are_malformed(data: bytes, name: str) -> None:
    assert code_of(data, name) == "DOCUMENT_MALFORMED"


@given(st.binary(max_size=2000), st.none() | st.sampled_from(["utf-16", "idna", "zlib", "cp037", "x" * 50]))
def test_no_bytes_raise_anything_but_a_coded_error(data: bytes, declared: str | None) -> None:
    try:
        decode(data, declared)
    except KnowledgeError as error:
        assert error.code == "DOCUMENT_MALFORMED"


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="\ufeff")))
def test_utf8_text_is_never_altered(text: str) -> None:
    assert decode(text.encode()).text == text
