"""File names as clients send them, made safe."""

import unicodedata

MAX_FILENAME_CHARS = 255

# Bidirectional controls can make "gpj.exe" read as "exe.jpg"; line and paragraph separators break lists and headers.
_DECEPTIVE = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")

# What operating systems and office programs scatter about; nobody wants to be told.
_LITTER = frozenset({".DS_Store", ".localized", ".Spotlight-V100", ".Trashes", ".fseventsd", ".directory", "__MACOSX"})
_LITTER_IN_ANY_CASE = frozenset({"thumbs.db", "ehthumbs.db", "desktop.ini"})
_LITTER_BEGINNINGS = ("._", ".~lock.", ".fuse_hidden", ".nfs")


def safe_name(filename: str) -> str:
    """A client's file name without folders, control and deceptive characters; at most 255 characters, extension kept.

    Never empty: a name of which nothing is left becomes `document`.
    """
    base = filename.replace("\\", "/").rsplit("/", 1)[-1]
    kept = "".join(char for char in base if char not in _DECEPTIVE and unicodedata.category(char) not in ("Cc", "Cs"))
    name = kept.strip()
    if name in ("", ".", ".."):
        return "document"
    if len(name) <= MAX_FILENAME_CHARS:
        return name
    extension = extension_of(name)
    ending = f".{extension}" if 0 < len(extension) <= 16 else ""
    return name[: MAX_FILENAME_CHARS - len(ending)] + ending


def extension_of(filename: str) -> str:
    """The extension in lower case, without the dot; empty when there is none."""
    stem, dot, extension = filename.rpartition(".")
    return extension.lower() if dot and stem else ""


def title_of(filename: str) -> str:
    """The title that a document has until its content tells a better one: the file name without its extension."""
    stem = filename.rpartition(".")[0] if extension_of(filename) else filename
    return stem.strip() or filename


def is_litter(name: str) -> bool:
    """Whether a file or folder of this name is something that a system leaves everywhere."""
    return name in _LITTER or name.casefold() in _LITTER_IN_ANY_CASE or name.startswith(_LITTER_BEGINNINGS)


def is_owner_file(name: str) -> bool:
    """Whether Office keeps a file of this name beside a document that is open: it looks like a document and is none."""
    return name.startswith("~$")
