"""A rule for markdown-it: `[^label]: text` is a footnote with blocks of its own.

Without it CommonMark takes a footnote of one word for the address of a link and drops it, and the further paragraphs of
a footnote, which are indented, for code.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

_DEFINITION = re.compile(r"(\[\^[^\]\s]+\]:)[ \t]*")
_INDENT = 4  # columns by which a footnote's further blocks are indented


def with_footnotes(reader: MarkdownIt) -> MarkdownIt:
    """The reader, with footnotes as blocks between `footnote_open` (whose `info` is the label) and `footnote_close`."""
    reader.block.ruler.before("reference", "footnote", _footnote, {"alt": ["paragraph", "reference"]})
    return reader


def _footnote(state: StateBlock, first_line: int, end_line: int, silent: bool) -> bool:
    begin = state.bMarks[first_line] + state.tShift[first_line]
    definition = _DEFINITION.match(state.src, begin, state.eMarks[first_line])
    if definition is None or state.is_code_block(first_line):
        return False
    if silent:
        return True
    opening = state.push("footnote_open", "", 1)
    opening.info = definition[1]
    saved = state.parentType, state.bMarks[first_line], state.tShift[first_line], state.sCount[first_line]
    state.parentType = "footnote"
    state.blkIndent += _INDENT
    # The rest of the line is the first line of the footnote's text.
    state.bMarks[first_line], state.tShift[first_line] = definition.end(), 0
    state.sCount[first_line] = state.blkIndent
    state.md.block.tokenize(state, first_line, end_line)
    state.blkIndent -= _INDENT
    state.parentType, state.bMarks[first_line], state.tShift[first_line], state.sCount[first_line] = saved
    opening.map = [first_line, state.line]
    state.push("footnote_close", "", -1)
    return True
