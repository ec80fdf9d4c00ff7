import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.cursors import CursorSigner, bind, secret_from
from mcp_knowledge.errors import KnowledgeError

SIGNER = CursorSigner(b"k" * 32)
PAYLOADS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def refused(kind: str, cursor: str, signer: CursorSigner = SIGNER) -> None:
    with pytest.raises(KnowledgeError) as caught:
        signer.read(kind, cursor)
    assert caught.value.code == "INVALID_CURSOR"


@given(PAYLOADS)
def test_a_cursor_gives_back_its_payload_and_needs_no_escaping_in_a_url(payload: object) -> None:
    cursor = SIGNER.make("documents", payload)
    assert SIGNER.read("documents", cursor) == payload
    assert set(cursor) <= set(string.ascii_letters + string.digits + "-_")


@given(st.text(max_size=200))
def test_any_other_text_is_refused(text: str) -> None:
    refused("documents", text)


@given(st.binary(max_size=80))
def test_well_encoded_bytes_without_the_key_are_refused(data: bytes) -> None:
    refused("documents", base64.urlsafe_b64encode(data).rstrip(b"=").decode())


@given(st.data())
def test_a_cursor_with_one_character_changed_is_refused(data: st.DataObject) -> None:
    cursor = SIGNER.make("documents", [1, "doc_1"])
    place = data.draw(st.integers(0, len(cursor) - 1))
    letter = data.draw(st.sampled_from(string.ascii_letters).filter(lambda item: item != cursor[place]))
    refused("documents", cursor[:place] + letter + cursor[place + 1 :])


def test_a_cursor_serves_its_own_kind_and_key_only() -> None:
    cursor = SIGNER.make("documents", 1)
    refused("jobs", cursor)
    refused("documents", cursor, CursorSigner(b"x" * 32))


def test_an_endless_cursor_is_refused_before_it_is_decoded() -> None:
    refused("documents", "A" * 1_000_000)


def test_a_binding_tells_queries_apart_but_not_the_order_of_their_keys() -> None:
    assert bind({"a": 1, "b": [2]}) == bind({"b": [2], "a": 1})
    assert bind({"a": 1}) != bind({"a": "1"})


def test_the_secret_comes_from_base64_of_32_bytes_or_from_chance() -> None:
    key = bytes(range(224, 256))
    assert secret_from(base64.b64encode(key).decode()) == key
    assert secret_from(base64.urlsafe_b64encode(key).decode()) == key


@pytest.mark.parametrize("value", ["short", "é" * 44, base64.b64encode(b"k" * 31).decode()])
def test_a_secret_of_another_size_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(ValueError, match="exactly 32 bytes") as caught:
        secret_from(value)
    assert value not in str(caught.value)
