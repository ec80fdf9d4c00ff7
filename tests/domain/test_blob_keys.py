import contextlib
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.blob_keys import archive_key, checked_key, is_own_key, original_key
from mcp_knowledge.domain.documents import new_id


def test_keys_are_made_of_ids_alone() -> None:
    revision_id, archive_id = new_id("rev"), new_id("arc")

    assert original_key(revision_id) == f"originals/{revision_id[-1]}/{revision_id}"
    assert archive_key(archive_id) == f"archives/{archive_id}"
    assert all(
        is_own_key(key) and checked_key(key) == key for key in (original_key(revision_id), archive_key(archive_id))
    )


@pytest.mark.parametrize(
    "key", ["originals/holiday.jpg", "originals/a/rev_1", "letters/one.pdf", "mcp-knowledge/owner"]
)
def test_what_somebody_else_put_there_is_not_ours(key: str) -> None:
    assert not is_own_key(key)


def test_keys_of_the_first_version_are_ours() -> None:
    revision_id = new_id("rev")
    assert is_own_key(f"originals/{revision_id[-2:]}/{revision_id}")


@given(st.text(st.sampled_from("a./\\-_~%\0\n ü:"), max_size=12) | st.text(max_size=20))
def test_no_text_that_passes_as_a_key_leads_anywhere_else(text: str) -> None:
    with contextlib.suppress(ValueError):
        key = checked_key(text)
        parts = PurePosixPath(key).parts
        assert "/".join(parts) == key and not key.startswith("/")
        assert len(parts) > 1 and parts[0] != "uploads"
        assert not any(part.startswith(".") for part in parts)
        assert key.isascii() and not set(key) & set("\\:%~ \0\n")
