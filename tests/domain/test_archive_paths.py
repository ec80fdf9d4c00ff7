import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.archive_paths import (
    MAX_PATH_SEGMENTS,
    MAX_SHOWN_CHARS,
    UnsafePathError,
    entry_path,
    is_noise,
    shown_path,
)

PIECES = st.sampled_from(
    ["..", ".", "", "a", "b.txt", "C:", "\\", "/", "\0", "\n", "ü", "日", " ", "~", "con", "\u202e"]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=50).map("/".join), st.lists(PIECES, max_size=50).map("".join)))
def test_a_path_is_refused_or_stays_below_its_root_on_every_system(name: str) -> None:
    try:
        path = entry_path(name)
    except UnsafePathError as error:
        assert str(error).endswith(".")
        return
    for kind in (PurePosixPath, PureWindowsPath):
        parsed = kind(path)
        assert not parsed.is_absolute() and not parsed.drive and not parsed.root
        assert ".." not in parsed.parts
    segments = path.split("/")
    assert 1 <= len(segments) <= MAX_PATH_SEGMENTS and all(segments)
    assert not any(unicodedata.category(char) == "Cc" for char in path)
    assert entry_path(path) == path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a.txt", "a.txt"),
        ("./a//b/./c.txt", "a/b/c.txt"),
        ("folder\\file.txt", "folder/file.txt"),
        ("Ärger/日本.md", "Ärger/日本.md"),
        ("...", "..."),
        ("a..b/c.txt", "a..b/c.txt"),
        ("/".join(["d"] * (MAX_PATH_SEGMENTS - 1) + ["f.txt"]), "/".join(["d"] * (MAX_PATH_SEGMENTS - 1) + ["f.txt"])),
    ],
)
def test_ordinary_paths_are_read_as_they_are_meant(name: str, path: str) -> None:
    assert entry_path(name) == path


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "\\\\server\\share\\a.txt", "../a.txt", "a/../../b.txt", "a\\..\\..\\b.txt", "a/.."),
        *("C:\\a.txt", "c:a.txt", "a\0.txt", "a\nb.txt", "\x7f.txt", "", ".", "./"),
        "/".join(["d"] * MAX_PATH_SEGMENTS + ["f.txt"]),
    ],
)
def test_unsafe_paths_are_refused(name: str) -> None:
    with pytest.raises(UnsafePathError):
        entry_path(name)


@given(st.text(max_size=3000))
def test_any_path_can_be_shown(name: str) -> None:
    shown = shown_path(name)
    assert len(shown) <= MAX_SHOWN_CHARS + 1
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in shown)


def test_what_systems_leave_is_noise_and_nothing_else_is() -> None:
    assert all(
        map(
            is_noise,
            [
                "a/Thumbs.db",
                "desktop.ini",
                "__MACOSX/a.txt",
                "__MACOSX/._a.txt",
                "x/.DS_Store",
                ".DS_Store",
                "a/._b.txt",
                "a\\._b",
            ],
        )
    )
    assert not any(map(is_noise, ["a.txt", "_MACOSX/a.txt", "thumbs.txt", ".gitignore", "DS_Store", "._x/a.txt"]))
