"""A backup that somebody has tampered with, or that is damaged, is refused, and nothing is put in place."""

import asyncio
import copy
import hashlib
import json
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest
from backup_kit import backed_up, members, write
from hypothesis import HealthCheck, given
from hypothesis import settings as limits
from hypothesis import strategies as st

from mcp_knowledge.adapters.backup import layout
from mcp_knowledge.adapters.backup.tar_files import PIECE_BYTES, TarReader
from mcp_knowledge.adapters.backup.unpacking import unpack
from mcp_knowledge.adapters.sqlite.connection import Database
from mcp_knowledge.errors import StartupError
from mcp_knowledge.interfaces.cli.restoring import restore_from
from mcp_knowledge.settings import Settings, load_settings

Parts = list[tuple[tarfile.TarInfo, bytes]]
KEY = f"archives/arc_{7:032x}"
ORIGINAL = b"bytes that nothing else has"


async def make_corpus(settings: Settings) -> None:
    """A database with one original: an archive that waits."""
    database = Database(settings.database_path)
    await database.open()
    digest = hashlib.sha256(ORIGINAL).digest()
    await database.write(
        lambda c: c.execute(
            """INSERT INTO archives (id, state, visible_at_ms, created_at_ms, size_bytes, sha256, original_filename,
                   blob_key) VALUES (?, 'queued', 1, 1, ?, ?, 'letters.zip', ?)""",
            (KEY.rpartition("/")[2], len(ORIGINAL), digest, KEY),
        )
    )
    await database.close()
    path = settings.blobs_path / KEY
    path.parent.mkdir(parents=True)
    path.write_bytes(ORIGINAL)


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small backup that no test changes."""
    folder = tmp_path_factory.mktemp("backup")
    settings = load_settings(data_dir=folder / "data")
    asyncio.run(make_corpus(settings))
    assert backed_up(settings, folder / "backup.tar").ok
    return folder / "backup.tar"


def refused(file: Path, folder: Path, match: str = "") -> None:
    """Restore it; nothing may be there afterwards."""
    target = folder / "targets" / "data"
    target.parent.mkdir()
    with pytest.raises(StartupError, match=match):
        restore_from(load_settings(data_dir=target), file, quiet=True)
    assert list(target.parent.iterdir()) == []


def named(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


def inserted(info: tarfile.TarInfo, content: bytes = b"") -> Callable[[Parts], Parts]:
    return lambda parts: [*parts[:2], (info, content), *parts[2:]]


def without(name: str) -> Callable[[Parts], Parts]:
    return lambda parts: [part for part in parts if part[0].name != name]


def with_manifest(**changes: Any) -> Callable[[Parts], Parts]:
    def change(parts: Parts) -> Parts:
        data = json.dumps({**json.loads(parts[0][1]), **changes}).encode()
        return [(named(layout.MANIFEST, size=len(data)), data), *parts[1:]]

    return change


def with_original(content: bytes) -> Callable[[Parts], Parts]:
    def change(parts: Parts) -> Parts:
        return [(named(KEY, size=len(content)), content) if info.name == KEY else (info, data) for info, data in parts]

    return change


def twice(parts: Parts) -> Parts:
    return [*parts[:3], copy.deepcopy(parts[2]), *parts[3:]]


HOSTILE: dict[str, tuple[Callable[[Parts], Parts], str]] = {
    "a path outside": (inserted(named("../outside", size=1), b"x"), "does not name"),
    "an absolute path": (inserted(named("/etc/outside", size=1), b"x"), "does not name"),
    "a path through a key": (inserted(named("originals/../../outside", size=1), b"x"), "does not name"),
    "an unknown original": (inserted(named(f"archives/arc_{8:032x}", size=1), b"x"), "does not name"),
    "a symbolic link": (inserted(named(KEY, tarfile.SYMTYPE, "/etc/passwd")), "no plain file"),
    "a hard link": (inserted(named(KEY, tarfile.LNKTYPE, "app.db")), "no plain file"),
    "a folder": (inserted(named("originals", tarfile.DIRTYPE)), "no plain file"),
    "a device": (inserted(named(KEY, tarfile.CHRTYPE)), "no plain file"),
    "a pipe": (inserted(named(KEY, tarfile.FIFOTYPE)), "no plain file"),
    "an original twice": (twice, "twice"),
    "another original": (with_original(b"x" + ORIGINAL[1:]), "SHA-256"),
    "a shorter original": (with_original(ORIGINAL[:-1]), "SHA-256"),
    "a missing original": (without(KEY), "SHA-256"),
    "no sums": (without(layout.SUMS), "without its SHA256SUMS"),
    "no database": (without(layout.DATABASE), "does not follow"),
    "no manifest": (without(layout.MANIFEST), "does not begin"),
    "nothing": (lambda parts: [], "does not begin"),
    "something behind the sums": (lambda parts: [*parts, (named("more", size=1), b"x")], "follows"),
    "another order": (lambda parts: [parts[1], parts[0], *parts[2:]], "does not begin"),
    "a newer format": (with_manifest(formatVersion=2, productVersion="9.0"), r"newer version \(9.0\)"),
    "a newer schema": (with_manifest(schema=9999), "newer version"),
    "an older schema than the database": (with_manifest(schema=3), "SHA-256"),
    "signs for a terminal": (with_manifest(productVersion="\x1b[31m9", schema=9999), "cannot be read"),
    "another program's": (with_manifest(format="other"), "another program"),
    "a negative size": (with_manifest(database={"name": "app.db", "sizeBytes": -1, "sha256": "0" * 64}), "damaged"),
    "a manifest of other originals": (with_manifest(originals=[]), "does not name"),
    "a manifest of paths": (
        with_manifest(originals=[{"name": "../x", "sizeBytes": 1, "sha256": "0" * 64}]),
        "manifest of this backup is damaged",
    ),
    "a manifest of another shape": (with_manifest(originals=7), "manifest of this backup is damaged"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_does_not_belong_into_a_backup_is_refused(backup: Path, tmp_path: Path, name: str) -> None:
    change, said = HOSTILE[name]
    write(tmp_path / "hostile.tar", change(members(backup)))
    refused(tmp_path / "hostile.tar", tmp_path, said)


def test_extended_headers_are_refused(backup: Path, tmp_path: Path) -> None:
    parts = members(backup)
    parts[0][0].pax_headers = {"path": "../outside", "GNU.sparse.realsize": "1"}
    write(tmp_path / "hostile.tar", parts, format=tarfile.PAX_FORMAT)
    refused(tmp_path / "hostile.tar", tmp_path, "no plain file")


def test_a_size_that_is_not_there_is_refused_at_once(backup: Path, tmp_path: Path) -> None:
    data = backup.read_bytes()
    header = named(layout.MANIFEST, size=2**62).tobuf(tarfile.GNU_FORMAT)
    (tmp_path / "hostile.tar").write_bytes(header + data[512:])
    refused(tmp_path / "hostile.tar", tmp_path, "ends too early")


def test_what_is_no_backup_at_all_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"PK\x03\x04" * 1000)
    refused(tmp_path / "file", tmp_path, "not a backup")
    settings = load_settings(data_dir=tmp_path / "data")
    for path, said in ((tmp_path, "is no file"), (tmp_path / "none", "There is no file")):
        with pytest.raises(StartupError, match=said):
            restore_from(settings, path, quiet=True)


def test_a_database_that_is_damaged_or_no_database_is_refused(backup: Path, tmp_path: Path) -> None:
    parts = members(backup)
    for at, content in enumerate(
        (b"no database" * 100, parts[1][1][: len(parts[1][1]) // 2], other_database(tmp_path))
    ):
        (folder := tmp_path / str(at)).mkdir()
        write(folder / "hostile.tar", consistent(parts, content))
        refused(folder / "hostile.tar", folder, "database in it is damaged")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON jobs BEGIN DELETE FROM api_keys; END",
        "DROP TABLE login_attempts; CREATE VIEW login_attempts AS SELECT 1",
        "CREATE VIRTUAL TABLE v USING fts5 (a)",
    ],
)
def test_a_database_that_does_something_by_itself_is_refused(backup: Path, tmp_path: Path, statement: str) -> None:
    parts = members(backup)
    (tmp_path / "app.db").write_bytes(parts[1][1])
    with closing(apsw.Connection(str(tmp_path / "app.db"))) as connection:
        connection.execute(statement)
    write(tmp_path / "hostile.tar", consistent(parts, (tmp_path / "app.db").read_bytes()))
    refused(tmp_path / "hostile.tar", tmp_path, "not of this program")


def other_database(folder: Path) -> bytes:
    connection = apsw.Connection(str(folder / "other.db"))
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    return (folder / "other.db").read_bytes()


def consistent(parts: Parts, database: bytes) -> Parts:
    """A backup of another database, with hashes that are right."""
    manifest = json.loads(parts[0][1])
    digest = hashlib.sha256(database).hexdigest()
    manifest["database"] = {"name": "app.db", "sizeBytes": len(database), "sha256": digest}
    data = json.dumps(manifest).encode()
    sums = layout.sums_to_bytes(
        {layout.MANIFEST: hashlib.sha256(data).hexdigest(), layout.DATABASE: digest}
        | {info.name: hashlib.sha256(content).hexdigest() for info, content in parts[2:-1]}
    )
    return [
        (named(layout.MANIFEST, size=len(data)), data),
        (named(layout.DATABASE, size=len(database)), database),
        *parts[2:-1],
        (named(layout.SUMS, size=len(sums)), sums),
    ]


def test_a_target_with_something_in_it_stays_as_it_is(backup: Path, tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path / "data")
    settings.data_dir.mkdir()
    assert restore_from(settings, backup, quiet=True).ok  # empty
    volume = load_settings(data_dir=tmp_path / "volume")
    (volume.data_dir / "lost+found").mkdir(parents=True)
    assert restore_from(volume, backup, quiet=True).ok  # as a new file system is
    assert {path.name for path in volume.data_dir.iterdir()} == {
        "lost+found",
        *(path.name for path in settings.data_dir.iterdir()),
    }
    before = sorted(settings.data_dir.rglob("*"))
    for folder in (settings.data_dir, tmp_path):
        with pytest.raises(StartupError, match="is not empty"):
            restore_from(load_settings(data_dir=folder), backup, quiet=True)
    assert sorted(settings.data_dir.rglob("*")) == before
    with pytest.raises(StartupError, match="DATABASE_URL"):
        elsewhere = f"file:{tmp_path}/elsewhere.db"
        restore_from(load_settings(data_dir=tmp_path / "new", database_url=elsewhere), backup, quiet=True)


@contextmanager
def unpacked(data: bytes) -> Iterator[Any]:
    with TemporaryDirectory() as folder:
        (Path(folder) / "backup.tar").write_bytes(data)
        (Path(folder) / "in").mkdir()
        with (Path(folder) / "backup.tar").open("rb") as file:
            found = unpack(file, Path(folder) / "in" / "app.db", Path(folder) / "in", lambda count: None)
            yield found, {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()}


@limits(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_or_a_cut_is_noticed_or_changes_nothing(backup: Path, data: st.DataObject) -> None:
    whole = backup.read_bytes()
    length = len(whole)
    near = st.one_of(st.integers(0, 4096), st.integers(length - 6000, length - 1), st.integers(0, length - 1))
    at = data.draw(near)
    cut = data.draw(st.booleans())
    changed = (
        whole[:at] if cut else whole[:at] + bytes([whole[at] ^ 1 << data.draw(st.integers(0, 7))]) + whole[at + 1 :]
    )
    try:
        with unpacked(changed) as (found, files):
            assert not cut
            assert files == {"backup.tar", "in/app.db", f"in/{KEY}"}
            assert found.manifest.database.sha256 and found.originals[KEY].read_bytes() == ORIGINAL
    except StartupError:
        pass


@limits(max_examples=80, deadline=None)
@given(st.binary(max_size=3000), st.integers(0, 3))
def test_any_bytes_are_read_or_refused(junk: bytes, headers: int) -> None:
    start = b"".join(named(f"file-{number}", size=3).tobuf() + b"abc".ljust(512, b"\0") for number in range(headers))
    with TemporaryDirectory() as folder:
        (Path(folder) / "file").write_bytes(start + junk)
        with (Path(folder) / "file").open("rb") as file:
            reader = TarReader(file, lambda count: None)
            try:
                while (member := reader.next()) is not None:
                    assert sum(len(piece) for piece in reader.read(member[1])) == member[1] <= PIECE_BYTES
            except StartupError:
                pass


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '{"format": "mcp-knowledge-backup"}', "[" * 100_000, '{"format": 1e999}']
)
def test_any_manifest_is_read_or_refused(text: str) -> None:
    with pytest.raises(StartupError):
        layout.manifest_from(text.encode(), 9)
