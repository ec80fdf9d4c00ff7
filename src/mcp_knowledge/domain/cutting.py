"""Where a section's text may be cut, how good each place is, and which places are taken."""

import re
import unicodedata
from dataclasses import dataclass
from itertools import accumulate, pairwise

from mcp_knowledge.domain.sections import Part, Section, Tokens

# How good a place to cut is, by what begins there.
IN_WORD, WORD, LINE_IN_SENTENCE, SENTENCE, LINE, BLOCK = range(6)
# What a cut there costs, in units of the distance from the size aimed at (1 = the chunk would be empty or doubled).
_COST = {BLOCK: 0.0, LINE: 0.2, SENTENCE: 0.5, LINE_IN_SENTENCE: 0.8, WORD: 1.5, IN_WORD: 3.0}
_COST_BELOW_MINIMUM = 2.0

# A model reads a word of over 100 characters as one unknown token, and blanks as none: text of that kind is measured in
# characters, so that no chunk grows beyond 20 characters a token (English has about 4.5).
CHARACTERS_PER_TOKEN = 20
_LONG_SENTENCE = 600  # characters; beyond that, cuts inside the sentence are prepared
_PIECE_CHARACTERS = 120
_PIECE_TOKENS = 24

_BLANK_LINE = re.compile(r"\n[ \t]*+\n\s*+")
_NEWLINE = re.compile(r"\n")
_CELL = re.compile(r" \| ")
# An initial or one of the commonest short forms does not end a sentence; missing one costs a slightly worse cut.
_NOT_SHORT_FORM = "".join(
    rf"(?<!\b{form})" for form in ("[A-Z]", "Dr", "Mr", "Ms", "Mrs", "St", "No", "Nr", "Fig", "al")
)
_SENTENCE_END = re.compile(rf"(?<![.!?…]){_NOT_SHORT_FORM}[.!?…]++[\"'”’»)\]]*+\s++(?=\S)|[。！？｡]++[”’」』）]*+\s*+")


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Sizes in model tokens; `window` is all that the model reads, with its two special tokens."""

    target: int = 180
    minimum: int = 64
    maximum: int = 220
    overlap: int = 32
    window: int = 256


@dataclass(frozen=True, slots=True)
class Piece:
    """What becomes a chunk: characters `start`…`end` of its section's text, after `header` inside a table.

    Args:
        parts: indexes of the first and the last part it touches.
        tokens: model tokens of header and text, exact unless `recount` is set.
    """

    start: int
    end: int
    header: str
    parts: tuple[int, int]
    tokens: int
    recount: bool


@dataclass(slots=True)
class Atoms:
    """The stretches of a section between possible cuts, in order: they touch, and together they are the whole text."""

    starts: list[int]
    strengths: list[int]
    parts: list[int]
    tokens: list[int]

    def texts(self, text: str) -> list[str]:
        """Every stretch's characters."""
        return [text[a:b] for a, b in zip(self.starts, [*self.starts[1:], len(text)], strict=True)]


def weight(tokens: int, characters: int) -> int:
    """The size of a text in tokens, or in characters where it has hardly any tokens."""
    return max(tokens, -(-characters // CHARACTERS_PER_TOKEN))


def find_atoms(section: Section) -> Atoms:
    """All places where the section may be cut, without token counts yet."""
    starts: list[int] = []
    strengths: list[int] = []
    owners: list[int] = []
    for index, part in enumerate(section.parts):
        places = _line_places(section.text, part) if part.line_starts else _prose_places(section.text, part)
        for start, strength in places:
            starts.append(start)
            strengths.append(strength)
            owners.append(index)
    return Atoms(starts, strengths, owners, [])


def split_long_atoms(section: Section, atoms: Atoms, tokens: Tokens, sizes: ChunkSizes) -> Atoms:
    """Cut what would not fit a chunk, at words where there are any, and count the new pieces."""
    limits = [sizes.maximum - (part.header_tokens or sizes.overlap) for part in section.parts]
    ends = [*atoms.starts[1:], len(section.text)]
    sizes_of = [weight(count, end - start) for count, start, end in zip(atoms.tokens, atoms.starts, ends, strict=True)]
    if all(size <= limits[part] for size, part in zip(sizes_of, atoms.parts, strict=True)):
        return atoms
    result = Atoms([], [], [], [])
    for index, size in enumerate(sizes_of):
        start, part = atoms.starts[index], atoms.parts[index]
        if size <= limits[part]:
            cuts = [(start, atoms.strengths[index])]
            counts = [atoms.tokens[index]]
        else:
            text = section.text[start : ends[index]]
            cuts = [(start, atoms.strengths[index]), *((start + at, level) for at, level in _token_cuts(text, tokens))]
            edges = [*(at for at, _ in cuts), ends[index]]
            counts = tokens.count_tokens([section.text[a:b] for a, b in pairwise(edges)])
        result.starts += [at for at, _ in cuts]
        result.strengths += [level for _, level in cuts]
        result.parts += [part] * len(cuts)
        result.tokens += counts
    return result


def cut(section: Section, atoms: Atoms, tokens: Tokens, sizes: ChunkSizes) -> list[Piece]:
    """Choose the cuts: pieces of about the target size, at the best places, with overlap inside running text."""
    return _Cutter(section, atoms, sizes, tokens).pieces()


@dataclass(frozen=True, slots=True)
class _Lead:
    """What a piece takes along before its first own atom: overlap from `start` on, or a table's header row."""

    start: int
    part: int
    size: int = 0
    tokens: int = 0
    header: str = ""


class _Cutter:
    def __init__(self, section: Section, atoms: Atoms, sizes: ChunkSizes, tokens: Tokens) -> None:
        self.text, self.section, self.atoms, self.sizes, self.tokens = section.text, section, atoms, sizes, tokens
        self.count = len(atoms.starts)
        self.ends = [*atoms.starts[1:], len(section.text)]
        self.weights = [weight(n, b - a) for n, a, b in zip(atoms.tokens, atoms.starts, self.ends, strict=True)]
        self.size_before = [0, *accumulate(self.weights)]
        self.tokens_before = [0, *accumulate(atoms.tokens)]

    def pieces(self) -> list[Piece]:
        result: list[Piece] = []
        first, previous = 0, 0
        while first < self.count:
            lead = self._lead(first, previous)
            end = self._end(first, lead.size)
            stop = self._without_blanks_at_end(first, end)
            if stop > self.atoms.starts[first]:
                result.append(self._piece(first, end, stop, lead))
                previous = first
            first = end
        return result

    def _is_prose(self, atom: int) -> bool:
        return self.section.parts[self.atoms.parts[atom]].kind == "prose"

    def _lead(self, first: int, previous: int) -> _Lead:
        start, owner = self.atoms.starts[first], self.atoms.parts[first]
        part = self.section.parts[owner]
        if part.header and start > part.start:
            return _Lead(start, owner, part.header_tokens, part.header_tokens, part.header)
        if first and self._is_prose(first) and self._is_prose(first - 1):
            return self._overlap(first, previous)
        return _Lead(start, owner)

    def _overlap(self, first: int, previous: int) -> _Lead:
        """The end of the text before atom `first`: whole sentences where they fill half the overlap, else words."""
        wanted, size, count, atom = self.sizes.overlap, 0, 0, first
        while atom > previous and self._is_prose(atom - 1) and size + self.weights[atom - 1] <= wanted:
            atom -= 1
            size += self.weights[atom]
            count += self.atoms.tokens[atom]
        begin, owner = self.atoms.starts[atom], self.atoms.parts[atom]
        if size * 2 >= wanted or atom == previous or not self._is_prose(atom - 1):
            return _Lead(begin, owner, size, count)
        text = self.text[self.atoms.starts[atom - 1] : begin]
        at, more = _tail_words(text, self.tokens.token_offsets(text), wanted - size)
        if more == 0:
            return _Lead(begin, owner, size, count)
        return _Lead(begin - len(text) + at, self.atoms.parts[atom - 1], size + more, count + more)

    def _end(self, first: int, carried: int) -> int:
        """The atom before which to cut a piece that begins at `first`: a good place near an even share of the rest."""
        sizes, before, count = self.sizes, self.size_before, self.count
        rest = carried + before[count] - before[first]
        if rest <= sizes.maximum:
            return count
        own = rest - sizes.overlap  # of each piece's tokens, the overlap is its neighbour's
        pieces = max(2, round(own / (sizes.target - sizes.overlap)), -(-own // (sizes.maximum - sizes.overlap)))
        goal = (rest + sizes.overlap * (pieces - 1)) / pieces
        best, best_cost = first + 1, float("inf")
        for end in range(first + 1, count):
            size = carried + before[end] - before[first]
            if size > sizes.maximum:
                break
            cost = abs(size - goal) / goal + _COST[self.atoms.strengths[end]]
            if size < sizes.minimum or before[count] - before[end] < sizes.minimum - sizes.overlap:
                cost += _COST_BELOW_MINIMUM
            if cost <= best_cost:
                best, best_cost = end, cost
        return best

    def _without_blanks_at_end(self, first: int, end: int) -> int:
        stop, start = self.ends[end - 1], self.atoms.starts[first]
        while stop > start and self.text[stop - 1].isspace():
            stop -= 1
        return stop

    def _piece(self, first: int, end: int, stop: int, lead: _Lead) -> Piece:
        start = lead.start
        blanks = "\r\n" if self.section.parts[lead.part].kind in ("code", "list") else None
        while self.text[start].isspace() and (blanks is None or self.text[start] in blanks):
            start += 1
        own = self.tokens_before[end] - self.tokens_before[first]
        in_word = IN_WORD in self.atoms.strengths[first : end + 1]
        return Piece(start, stop, lead.header, (lead.part, self.atoms.parts[end - 1]), lead.tokens + own, in_word)


def _prose_places(text: str, part: Part) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    for start, end, level in _split(text, part.start, part.end, BLOCK, _BLANK_LINE, BLOCK):
        for begin, stop, inner in _split(text, start, end, level, _SENTENCE_END, SENTENCE):
            places += _within_sentence(text, begin, stop, inner)
    return places


def _line_places(text: str, part: Part) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    edges = [*part.line_starts, part.end]
    level = BLOCK
    for start, end in pairwise(edges):
        if end - start <= _LONG_SENTENCE:
            places.append((start, level))
        else:
            between = _CELL if part.kind == "table" else _SENTENCE_END
            for begin, stop, inner in _split(text, start, end, level, between, SENTENCE):
                places += _within_sentence(text, begin, stop, inner)
        # A header row alone at a chunk's end would say nothing.
        level = LINE_IN_SENTENCE if part.header and start == part.start else LINE
    return places


def _within_sentence(text: str, start: int, end: int, level: int) -> list[tuple[int, int]]:
    if end - start <= _LONG_SENTENCE:
        return [(start, level)]
    places: list[tuple[int, int]] = []
    for begin, stop, inner in _split(text, start, end, level, _NEWLINE, LINE_IN_SENTENCE):
        places += _hard_places(text, begin, stop, inner)
    return places


def _hard_places(text: str, start: int, end: int, level: int) -> list[tuple[int, int]]:
    """Every 120 characters or so: after the last blank, else in a word (but not before a combining mark)."""
    places = [(start, level)]
    while end - start > _PIECE_CHARACTERS:
        at = start + _PIECE_CHARACTERS
        blank = max(text.rfind(" ", start, at), text.rfind("\t", start, at))
        if blank > start:
            start, level = blank + 1, WORD
        else:
            while at < end - 1 and unicodedata.category(text[at])[0] in "MC":
                at += 1
            start, level = at, IN_WORD
        places.append((start, level))
    return places


def _split(
    text: str, start: int, end: int, level: int, separator: re.Pattern[str], inner: int
) -> list[tuple[int, int, int]]:
    """(start, end, level) of the stretches between separators; the first keeps `level`."""
    spans: list[tuple[int, int, int]] = []
    for match in separator.finditer(text, start, end):
        lower = separator is _SENTENCE_END and match.end() < end and text[match.end()].islower()  # "e.g. this"
        if start < match.end() < end and not lower:
            spans.append((start, match.end(), level))
            start, level = match.end(), inner
    spans.append((start, end, level))
    return spans


def _token_cuts(text: str, tokens: Tokens) -> list[tuple[int, int]]:
    """Cuts every 24 tokens or so, at a word's start if one lies within the next 24."""
    offsets = tokens.token_offsets(text)
    cuts: list[tuple[int, int]] = []
    index, last, since = 1, 0, 0
    while index < len(offsets):
        start = offsets[index][0]
        if index - since >= _PIECE_TOKENS and start > last:
            clean = _starts_word(text, start)
            if clean or index - since >= 2 * _PIECE_TOKENS:
                cuts.append((start, WORD if clean else IN_WORD))
                last, since = start, index
        index += 1
    return cuts


def _tail_words(text: str, offsets: list[tuple[int, int]], wanted: int) -> tuple[int, int]:
    """(character, tokens) of the longest end of the text with at most `wanted` tokens that begins at a word."""
    for index in range(max(1, len(offsets) - wanted), len(offsets)):
        start = offsets[index][0]
        if start >= offsets[index - 1][1] and _starts_word(text, start):
            return start, len(offsets) - index
    return len(text), 0


def _starts_word(text: str, position: int) -> bool:
    return text[position - 1].isspace() or unicodedata.name(text[position], "").startswith("CJK UNIFIED")
