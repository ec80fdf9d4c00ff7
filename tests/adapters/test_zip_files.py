import hashlib
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zip_files import (
    Entry,
    bomb_of_overlaps,
    deflated,
    directory_only,
    nested,
    raw_zip,
    unicode_path,
    zip_of,
)

from mcp_knowledge.adapters.zip_files import OpenZip, ZipReader
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.ports import ArchiveMember
from mcp_knowledge.settings import load_settings

UTF8 = 0x800
MIB = 1024 * 1024


async def opened(folder: Path, data: bytes, **limits: Any) -> OpenZip:
    path = folder / "archive.zip"
    path.write_bytes(data)
    return await ZipReader(load_settings(**limits)).open(path)


async def members(folder: Path, data: bytes, **limits: Any) -> list[ArchiveMember]:
    return list((await opened(folder, data, **limits)).members)


async def refusal(folder: Path, data: bytes, **limits: Any) -> str:
    with pytest.raises(KnowledgeError) as caught:
        await opened(folder, data, **limits)
    return caught.value.code


async def test_members_come_in_the_order_of_the_directory_with_their_true_sizes(tmp_path: Path) -> None:
    archive = await opened(tmp_path, zip_of(("b.txt", "12345"), ("folder/", ""), ("a/c.txt", "x" * 70_000)))
    assert [(item.name, item.kind, item.size_bytes) for item in archive.members] == [
        ("b.txt", "file", 5),
        ("folder/", "directory", 0),
        ("a/c.txt", "file", 70_000),
    ]
    digest = await archive.extract(archive.members[2], tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"x" * 70_000
    assert digest == hashlib.sha256(b"x" * 70_000).hexdigest()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
async def test_content_longer_than_a_piece_comes_out_whole(tmp_path: Path, method: int) -> None:
    content = hashlib.shake_256(b"noise").digest(MIB) * 2
    archive = await opened(tmp_path, zip_of(("large.bin", content), method=method))
    await archive.extract(archive.members[0], tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == content


async def test_names_are_read_in_the_encoding_of_their_writer(tmp_path: Path) -> None:
    old = "Übergröße.txt".encode("cp437")
    changed = unicode_path(b"another.txt", "Wrong.txt")
    entries = [
        Entry("Grün.txt".encode(), flags=UTF8),
        Entry("日本.txt".encode()),  # no flag, as some programs write it
        Entry(old),
        Entry(b"_.txt", extra=unicode_path(b"_.txt", "Ελλάδα.txt")),
        Entry(b"kept.txt", extra=changed),  # the field belongs to a name that was replaced
        Entry(b"plain.txt"),
    ]
    names = [item.name for item in await members(tmp_path, raw_zip(*entries))]
    assert names == ["Grün.txt", "日本.txt", "Übergröße.txt", "Ελλάδα.txt", "kept.txt", "plain.txt"]


async def test_a_name_keeps_what_stands_behind_a_nul(tmp_path: Path) -> None:
    (member,) = await members(tmp_path, raw_zip(Entry(b"safe.txt\0/../../evil.txt")))
    assert member.name == "safe.txt\0/../../evil.txt"


async def test_links_devices_and_folders_are_told_from_files(tmp_path: Path) -> None:
    entries = [
        Entry(b"link", b"/etc/passwd", mode=stat.S_IFLNK | 0o777),
        Entry(b"pipe", b"", mode=stat.S_IFIFO | 0o644),
        Entry(b"folder", b"", mode=stat.S_IFDIR | 0o755),
        Entry(b"file", mode=stat.S_IFREG | 0o644),
        Entry(b"windows\\", b""),
        Entry(b"no-mode", mode=0),
    ]
    kinds = [item.kind for item in await members(tmp_path, raw_zip(*entries))]
    assert kinds == ["other", "other", "directory", "file", "directory", "file"]


async def test_bytes_before_the_archive_do_no_harm(tmp_path: Path) -> None:
    data = b"#!/bin/sh\nexit 0\n" + zip_of(("a.txt", "hello"))
    archive = await opened(tmp_path, data)
    await archive.extract(archive.members[0], tmp_path / "out")
    assert (tmp_path / "out").read_text() == "hello"


@pytest.mark.parametrize(
    "entry",
    [
        Entry(b"a.txt", crc=1),
        Entry(b"a.txt", size=3),
        Entry(b"a.txt", size=5_000_000_00),
        Entry(b"a.txt", packed=b"\xff" * 20),
        Entry(b"a.txt", packed=deflated(b"some text")[:-3]),
        Entry(b"a.txt", packed=b""),
        Entry(b"a.txt", method=zipfile.ZIP_STORED, packed=b"some tex"),
    ],
)
async def test_a_damaged_entry_is_marked_and_the_others_are_read(tmp_path: Path, entry: Entry) -> None:
    found = await members(tmp_path, raw_zip(entry, Entry(b"b.txt")))
    assert [item.fault for item in found] == ["damaged", None]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 9, 93, 98])
async def test_other_compression_is_not_touched(tmp_path: Path, method: int) -> None:
    found = await members(tmp_path, raw_zip(Entry(b"a.txt", method=method), Entry(b"b.txt")))
    assert [item.fault for item in found] == ["compression", None]


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip", b"%PDF-1.7\n", b"PK\x05\x06" + b"\0" * 17])
async def test_what_is_no_archive_is_malformed(tmp_path: Path, data: bytes) -> None:
    assert await refusal(tmp_path, data) == "ARCHIVE_MALFORMED"


async def test_an_empty_archive_has_no_members(tmp_path: Path) -> None:
    assert await members(tmp_path, zip_of()) == []


async def test_a_truncated_archive_is_malformed(tmp_path: Path) -> None:
    data = zip_of(("a.txt", "hello"), ("b.txt", "world"))
    for length in range(len(data)):
        assert await refusal(tmp_path, data[:length]) == "ARCHIVE_MALFORMED", length


@pytest.mark.parametrize("entry", [Entry(b"a", flags=0x1), Entry(b"a", flags=0x41), Entry(b"a", method=99)])
async def test_one_encrypted_entry_makes_the_archive_encrypted(tmp_path: Path, entry: Entry) -> None:
    assert await refusal(tmp_path, raw_zip(Entry(b"b.txt"), entry)) == "ARCHIVE_ENCRYPTED"


async def test_as_many_entries_as_allowed_are_read_and_one_more_is_too_many(tmp_path: Path) -> None:
    entries = [Entry(b"%d.txt" % index) for index in range(21)]
    assert len(await members(tmp_path, raw_zip(*entries[:20]), max_archive_entries=20)) == 20
    for claimed in (21, 1, 20):
        data = raw_zip(*entries, count=claimed)
        assert await refusal(tmp_path, data, max_archive_entries=20) == "ARCHIVE_TOO_LARGE"


@pytest.mark.parametrize("claimed", [65_535, 7, 0])
async def test_a_directory_of_a_hundred_thousand_entries_is_not_even_read(
    tmp_path: Path, claimed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0

    class Counted(zipfile.ZipInfo):
        def __init__(self, *arguments: Any) -> None:
            nonlocal made
            made += 1
            super().__init__(*arguments)

    monkeypatch.setattr(zipfile, "ZipInfo", Counted)
    assert await refusal(tmp_path, directory_only(100_000, claimed)) == "ARCHIVE_TOO_LARGE"
    assert made == 0


async def test_entries_that_share_bytes_are_malformed(tmp_path: Path) -> None:
    assert await refusal(tmp_path, directory_only(3, 3)) == "ARCHIVE_MALFORMED"
    assert await refusal(tmp_path, bomb_of_overlaps(200, 900_000)) == "ARCHIVE_MALFORMED"
    inside = Entry(b"b.txt", offset=10)
    assert await refusal(tmp_path, raw_zip(Entry(b"a.txt"), inside)) == "ARCHIVE_MALFORMED"


async def test_what_is_inflated_counts_and_not_what_is_declared(tmp_path: Path) -> None:
    noise = hashlib.shake_256(b"noise").digest(3 * MIB)
    limits = {"max_archive_uncompressed_bytes": 5 * MIB}
    assert len(await members(tmp_path, zip_of(("a.bin", noise)), **limits)) == 1
    assert await refusal(tmp_path, zip_of(("a.bin", noise), ("b.bin", noise)), **limits) == "ARCHIVE_TOO_LARGE"
    lying = raw_zip(Entry(b"a", noise, size=10), Entry(b"b", noise, size=10))
    assert await refusal(tmp_path, lying, **limits) == "ARCHIVE_TOO_LARGE"


async def test_a_file_that_inflates_more_than_a_hundredfold_is_a_bomb(tmp_path: Path) -> None:
    assert await refusal(tmp_path, zip_of(("zeros.txt", b"0" * 5 * MIB))) == "ARCHIVE_TOO_LARGE"
    lying = raw_zip(Entry(b"zeros.txt", b"0" * 5 * MIB, size=10))
    assert await refusal(tmp_path, lying) == "ARCHIVE_TOO_LARGE"
    assert (await members(tmp_path, zip_of(("small.txt", b"0" * 500_000))))[0].fault is None
    many_small = zip_of(*((f"{number}.txt", b"0" * 500_000) for number in range(10)))
    assert await refusal(tmp_path, many_small) == "ARCHIVE_TOO_LARGE"


async def test_archives_in_archives_are_members_like_any_other(tmp_path: Path) -> None:
    (member,) = await members(tmp_path, nested(5, b"deep inside"))
    assert (member.name, member.fault) == ("level4.zip", None)


HONEST = zip_of(("a.txt", "some text " * 50), ("folder/", ""), ("folder/b.md", "# Title"), ("c.bin", bytes(200)))


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(HONEST) - 1), st.integers(0, 255)), min_size=1, max_size=6))
async def test_a_damaged_archive_is_refused_or_gives_only_what_it_measured(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(HONEST)
    for position, value in changes:
        data[position] = value
    try:
        archive = await opened(tmp_path, bytes(data))
    except KnowledgeError as error:
        assert error.code.startswith("ARCHIVE_")
        return
    for member in archive.members:
        if member.kind == "file" and member.fault is None:
            target = tmp_path / "out"
            await archive.extract(member, target)
            assert target.stat().st_size == member.size_bytes
            target.unlink()
