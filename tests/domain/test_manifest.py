"""The manifest of a scanned folder: what it may say, and which files it means."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_knowledge.domain.manifest import MAX_MANIFEST_BYTES, matches, parse_manifest
from mcp_knowledge.errors import KnowledgeError


def manifest(*rules: tuple[str, Any]) -> bytes:
    return json.dumps({"rules": [{"glob": glob, "metadata": metadata} for glob, metadata in rules]}).encode()


def nested(levels: int) -> dict[str, Any]:
    """Metadata of so many levels."""
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"in": value}
    return value


def refusal(data: bytes) -> str:
    """The sentence with which a manifest is refused."""
    with pytest.raises(KnowledgeError) as caught:
        parse_manifest(data)
    assert caught.value.code == "INVALID_INGEST_MANIFEST"
    return caught.value.message


def test_rules_apply_in_order_and_merge_at_the_top_level() -> None:
    found = parse_manifest(
        manifest(
            ("**", {"team": "all", "tags": {"a": 1}}),
            ("contracts/**", {"team": "legal"}),
            ("contracts/*.pdf", {"tags": {"b": 2}}),
        )
    )
    assert found.metadata_for("notes.txt") == {"team": "all", "tags": {"a": 1}}
    assert found.metadata_for("contracts/a.pdf") == {"team": "legal", "tags": {"b": 2}}
    assert found.metadata_for("contracts/old/a.pdf") == {"team": "legal", "tags": {"a": 1}}


def test_a_rule_for_one_file_takes_its_place_among_the_others() -> None:
    found = parse_manifest(manifest(("a.txt", {"x": 1, "y": 1}), ("*.txt", {"x": 2}), ("a.txt", {"y": 3})))
    assert found.metadata_for("a.txt") == {"x": 2, "y": 3}
    assert found.metadata_for("b.txt") == {"x": 2}


def test_no_rules_are_a_manifest_too() -> None:
    assert parse_manifest(b'{"rules": []}').metadata_for("a.txt") == {}


def test_a_byte_order_mark_is_no_fault() -> None:
    assert parse_manifest(b"\xef\xbb\xbf" + manifest(("a", {"x": 1}))).metadata_for("a") == {"x": 1}


@pytest.mark.parametrize(
    ("glob", "path", "matching"),
    [
        ("*", "a.txt", True),
        ("*", "a/b.txt", False),
        ("**", "a/b/c.txt", True),
        ("**/*.txt", "c.txt", True),
        ("a/**", "a/b/c.txt", True),
        ("a/**/c", "a/c", True),
        ("a/**/c", "a/b/b/c", True),
        ("a/**/c", "a/b/cc", False),
        ("a/**", "ab/c", False),
        ("?.txt", "a.txt", True),
        ("?.txt", "ab.txt", False),
        ("a?c", "a/c", False),
        ("*.TXT", "a.txt", False),
        ("Vertr\u00e4ge/*", "Vertra\u0308ge/a.txt", True),
        ("Vertra\u0308ge/a.txt", "Vertr\u00e4ge/a.txt", True),
        ("a.c", "abc", False),
    ],
)
def test_a_glob_means_these_paths(glob: str, path: str, matching: bool) -> None:
    assert (parse_manifest(manifest((glob, {"x": 1}))).metadata_for(path) == {"x": 1}) == matching


@pytest.mark.parametrize(
    ("glob", "mentions"),
    [
        ("/a", "relative"),
        ("C:/a", "relative"),
        ("", "empty"),
        ("a//b", "empty"),
        ("a/", "empty"),
        ("./a", "'.'"),
        ("a/../b", "'..'"),
        ("{a,b}", "braces"),
        ("a}", "braces"),
        ("[ab]", "brackets"),
        ("a]", "brackets"),
        ("!a", "'!'"),
        ("a\\b", "backslashes"),
        ("a\nb", "control"),
        ("a\x00b", "control"),
        ("a\x85b", "control"),
        ("a**", "whole segment"),
        ("a/***", "whole segment"),
    ],
)
def test_a_glob_outside_the_grammar_is_refused_with_the_rule_it_stands_in(glob: str, mentions: str) -> None:
    message = refusal(manifest(("ok", {}), (glob, {})))
    assert mentions in message
    assert "rule 2" in message


@pytest.mark.parametrize(
    ("data", "mentions"),
    [
        (b"", "no JSON"),
        (b"{", "line 1, column 2"),
        (b"[]", '"rules"'),
        (b"{}", '"rules"'),
        (b'{"rules": {}}', '"rules"'),
        (b'{"rules": [], "more": 1}', "nothing else"),
        (b'{"rules": [1]}', "rule 1"),
        (b'{"rules": [{"glob": "a"}]}', "rule 1"),
        (b'{"rules": [{"glob": "a", "metadata": {}, "more": 1}]}', "rule 1"),
        (b'{"rules": [{"glob": 1, "metadata": {}}]}', "rule 1"),
        (b'{"rules": [{"glob": "a", "metadata": []}]}', "rule 1"),
        (b'{"rules": [{"glob": "a", "metadata": null}]}', "rule 1"),
        (b'{"rules": [], "rules": []}', "'rules' twice"),
        (b'{"rules": [{"glob": "a", "metadata": {"x": 1, "x": 1}}]}', "'x' twice"),
        (b'{"rules": [{"glob": "a", "metadata": {"x": NaN}}]}', "finite"),
        (b'{"rules": [{"glob": "a", "metadata": {"x": -Infinity}}]}', "finite"),
        (b'{"rules": [{"glob": "a", "metadata": {"x": 1e999}}]}', "finite"),
        (b'{"rules": [{"glob": "a", "metadata": {"x": ' + b"9" * 5000 + b"}}]}", "too long"),
        (b'{"rules": [{"glob": "a", "metadata": {"x": 99999999999999999999}}]}', "64 bits"),
        (b'{"rules": [{"glob": "a", "metadata": {"x": "\\u0000"}}]}', "NUL"),
        (b'{"rules": [{"glob": "a", "metadata": {"x": "\\ud800"}}]}', "surrogate"),
        (b'{"rules": [{"glob": "\\udfff", "metadata": {}}]}', "surrogate"),
        (b'{"rules": []}\xff', "UTF-8"),
        ('{"rules": []}'.encode("utf-16"), "UTF-8"),
        (b"[" * 500_000, "nested"),
        (b'{"rules": []}' + b" " * MAX_MANIFEST_BYTES, "1 MiB"),
    ],
    ids=range(26),
)
def test_whatever_is_not_a_manifest_is_refused_with_a_reason(data: bytes, mentions: str) -> None:
    assert mentions in refusal(data)


def test_metadata_may_be_64_levels_deep_and_no_deeper() -> None:
    deepest = nested(64)
    assert parse_manifest(manifest(("a", deepest))).metadata_for("a") == deepest
    assert "64 levels" in refusal(manifest(("a", nested(65))))


def test_a_key_twice_is_found_among_many() -> None:
    keys = ",".join(f'"{number}":0' for number in range(50_000))
    assert "twice" in refusal(f'{{"rules": [{{"glob": "a", "metadata": {{{keys},"0":0}}}}]}}'.encode())


def test_rules_that_add_up_to_more_than_metadata_may_have_are_told_for_the_file() -> None:
    found = parse_manifest(manifest(("*", {"a": "x" * 40_000}), ("*.txt", {"b": "x" * 40_000})))
    with pytest.raises(KnowledgeError) as caught:
        found.metadata_for("a.txt")
    assert caught.value.code == "INVALID_METADATA"


SEGMENT = st.text("ab*?", min_size=1, max_size=5).filter(lambda text: "**" not in text)
GLOB = st.lists(st.just("**") | SEGMENT, min_size=1, max_size=6)
PATH = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=6)


def reference(glob: list[str]) -> str:
    """The same glob as a regular expression over segments that each end with a slash."""
    parts = (
        "(?:[^/]+/)*" if segment == "**" else segment.replace("*", "[^/]*").replace("?", "[^/]") + "/"
        for segment in glob
    )
    return "".join(parts)


@given(GLOB, PATH)
def test_globs_match_as_a_simple_reference_does(glob: list[str], path: list[str]) -> None:
    expected = re.fullmatch(reference(glob), "".join(f"{segment}/" for segment in path)) is not None
    assert matches(glob, path) == expected


def test_a_glob_made_to_be_slow_is_not() -> None:
    """A regular expression would need more steps than there are atoms."""
    assert not matches(["**", "a"] * 500 + ["b"], ["a"] * 2000)
    assert not matches(["*a" * 1000 + "b"], ["a" * 4000])


@given(st.binary(max_size=200))
def test_any_bytes_give_a_manifest_or_the_one_code(data: bytes) -> None:
    try:
        parse_manifest(data)
    except KnowledgeError as error:
        assert error.code == "INVALID_INGEST_MANIFEST"
