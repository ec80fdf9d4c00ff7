"""Word 97-2003 files: what stands beside or is not to be seen by us, the text by anydoc; Word 6 and 95 by us."""

import re
from collections.abc import Sequence
from contextlib import suppress

from mcp_knowledge.adapters.parsers.ole import Container
from mcp_knowledge.adapters.parsers.ole_properties import ole_properties
from mcp_knowledge.adapters.parsers.properties import titled
from mcp_knowledge.adapters.parsers.sinks import plain_text
from mcp_knowledge.adapters.parsers.source import Source
from mcp_knowledge.adapters.parsers.word import doc_95 as word_95
from mcp_knowledge.adapters.parsers.word.anydoc_blocks import document_blocks
from mcp_knowledge.adapters.parsers.word.doc_binary import TABLE_STREAMS, Aside, WordFile
from mcp_knowledge.domain.blocks import Block, NormalizedDocument, Paragraph
from mcp_knowledge.errors import KnowledgeError

_STREAM = "WordDocument"
_LETTERS = re.compile(r"[\W_]+")
_ANCHOR_CHARS = 60
_MAX_COMPARISONS = 2_000_000  # of paragraphs with blocks, for all comments and boxes together


def parse(source: Source) -> NormalizedDocument:
    """The document's blocks. They have no location: Word files do not state where their pages end.

    A document of which all is hidden is read as if nothing were, and one that has but headers and footers (letter
    paper) gives those: that is what it has to say.
    """
    container = Container(source.data)
    document = container.stream(_STREAM)
    if document is None:
        raise KnowledgeError("DOCUMENT_MALFORMED")
    if word_95.is_word_95(document):
        blocks: list[Block] = list(word_95.paragraphs(document))
    else:
        blocks = _blocks(source.data, container, document)
    return titled(blocks, ole_properties(container), source.filename)


def _blocks(data: bytes, container: Container, document: bytes) -> list[Block]:
    word: WordFile | None = None
    with suppress(KnowledgeError):
        word = WordFile(document, {name: container.stream(name) for name in TABLE_STREAMS})
    if word is None:
        return document_blocks(data, "doc")
    try:
        readable = container.with_streams({_STREAM: word.visible_stream, word.table_name: word.table_with_titles()})
        blocks = document_blocks(readable, "doc")
        blocks = _placed(blocks, [*word.comments(), *word.boxes()])
        return blocks or document_blocks(data, "doc") or list(word_95.plain_paragraphs(word.furniture()))
    except KnowledgeError as error:
        # Damage outside of the text: its paragraphs can be read without styles and tables.
        paragraphs = list(word_95.plain_paragraphs(word.main_text()))
        if error.code != "DOCUMENT_MALFORMED" or not paragraphs:
            raise
        return list(paragraphs)


def _placed(blocks: Sequence[Block], asides: Sequence[Aside]) -> list[Block]:
    """The blocks, each followed by the comments and text boxes whose paragraph it holds."""
    texts = [_LETTERS.sub("", plain_text(block)) for block in blocks]
    if not blocks:
        return [block for aside in asides for block in _paragraphs(aside)]
    after: dict[int, list[Block]] = {}
    ahead = max(100, _MAX_COMPARISONS // max(1, len(asides)))
    at = {True: 0, False: 0}  # comments and boxes each come in the order of their places
    for aside in asides:
        is_box = aside.author is None
        anchor = _LETTERS.sub("", aside.anchor or "")[:_ANCHOR_CHARS]
        if anchor:
            reach = range(at[is_box], min(len(texts), at[is_box] + ahead))
            place = next((index for index in reach if anchor in texts[index]), len(texts) - 1)
            at[is_box] = place if anchor in texts[place] else at[is_box]
        else:
            place = len(texts) - 1 if aside.anchor is None else -1
        after.setdefault(place, []).extend(_paragraphs(aside))
    result = after.get(-1, [])
    for index, block in enumerate(blocks):
        result += [block, *after.get(index, [])]
    return result


def _paragraphs(aside: Aside) -> list[Block]:
    if aside.author is None:
        return [Paragraph(line) for line in aside.text.split("\n")]
    label = f"Comment by {aside.author}" if aside.author else "Comment"
    return [Paragraph(f"[{label}: {aside.text}]")]
