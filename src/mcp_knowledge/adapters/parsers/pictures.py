"""Pictures, known by what a person wrote about them."""

import re

from mcp_knowledge.domain.blocks import Block, Image

# What programs write where nobody described the picture: names of files, links, numbered kinds of shapes.
_FILE_ALT = re.compile(
    r"(?:https?|file|cid|data):\S*|\S*[\\/]\S*[\\/]\S*|.{1,120}\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp|ico|pdf)",
    re.I,
)
_MAX_FILE_ALT_CHARS = 300
_NUMBERED_ALT = re.compile(
    r"(?:picture|image|graphic|photo|object|shape|bild|grafik|imagen?|immagine)?[\s_-]*\d*", re.I
)
_GENERATED = re.compile(
    r"\s*(?:Description automatically generated(?: with (?:very )?(?:low|medium|high) confidence)?|"
    r"Automatically generated description|AI-generated content may be incorrect)\.?\s*",
    re.I,
)


def picture_blocks(description: str) -> list[Block]:
    """A picture by its alternative text, if a person wrote one."""
    text = " ".join(_GENERATED.sub(" ", " ".join(description.split())).split())
    is_made_up = len(text) <= _MAX_FILE_ALT_CHARS and (_FILE_ALT.fullmatch(text) or _NUMBERED_ALT.fullmatch(text))
    return [Image(text)] if text and not is_made_up else []
