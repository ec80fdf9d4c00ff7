"""The folder of INGEST_DATA_DIR: every promise that the documentation makes of a scan."""

import os
from pathlib import Path

import pytest
from folder_kit import Office, settled
from rest_kit import API, assert_error

from mcp_knowledge.services import folder_files
from mcp_knowledge.services.folder_walk import FoundFile
from mcp_knowledge.settings import SettingsError, load_settings


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


async def test_the_files_of_a_folder_become_documents_with_their_place(office: Office) -> None:
    office.write("a.txt", "the first harbour")
    office.write("deep/er/b.md", "# The second\n\nharbour of all")
    async with office.opened() as look:
        assert look.status["state"] == "completed"
        assert look.counts["discovered"] == look.counts["examined"] == look.counts["queued"] == 2
        assert look.paths == {"a.txt", "deep/er/b.md"}
        assert look.document("deep/er/b.md")["title"] == "The second"
        assert await look.finds("second harbour") == set()
        assert await look.finds("the first harbour") == {look.document("a.txt")["id"]}


async def test_without_a_folder_the_scan_is_disabled_and_says_why(office: Office) -> None:
    look = await office.look(ingest_data_dir=None)
    assert look.status["state"] == "disabled"
    assert look.status["disabledReason"] == "INGEST_DATA_DIR is not set."
    assert look.status["skipped"] == []


async def test_a_second_scan_of_an_unchanged_folder_reads_no_file(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        office.write(f"folder-{number % 3}/{number}.txt", f"text number {number}")
    office.write("twin.txt", "text number 0")
    office.write("bundle.zip", inner="text in an archive")
    first = await office.look()
    for path in office.root.rglob("*"):  # long enough ago for the clock of the file system
        os.utime(path, (1e9, 1e9))
    await office.look()
    await office.look()  # the one before may have come within the grain of that clock
    reads: list[object] = []
    monkeypatch.setattr("mcp_knowledge.services.folder_scan.copy_file", lambda *arguments: reads.append(arguments))
    second = await office.look()
    assert reads == []
    assert second.counts["unchanged"] == 21
    assert second.counts["duplicates"] == 1
    assert {item["id"] for item in second.documents} == {item["id"] for item in first.documents}


async def test_folders_below_the_depth_are_not_entered_and_are_named(office: Office) -> None:
    office.write("a/b/in.txt", "inside")
    office.write("a/b/c/out.txt", "outside")
    look = await office.look(ingest_data_max_depth=2)
    assert look.paths == {"a/b/in.txt"}
    assert look.skipped == {"a/b/c": "skipped"}
    assert "more than 2 folders deep" in look.reason("a/b/c")
    office.write("a/0.txt", "before it")
    office.write("z/y/x/w.txt", "behind it")
    await office.look(ingest_data_max_depth=2)
    part = await office.look(ingest_data_max_depth=3, ingest_data_max_files=2)
    assert part.skipped == {"z/y/x": "skipped"}  # it was not looked at again yet
    assert (await office.look(ingest_data_max_depth=3)).skipped == {}


async def test_a_scan_stops_at_its_limit_and_the_next_one_goes_on_there(office: Office) -> None:
    for name in ("a/1.txt", "a/2.txt", "b.txt", "c/3.txt", "c/4.txt"):
        office.write(name, f"text of {name}")
    first = await office.look(ingest_data_max_files=2)
    assert first.status["limitReached"]
    assert first.paths == {"a/1.txt", "a/2.txt"}
    second = await office.look(ingest_data_max_files=2)
    assert second.status["limitReached"]
    assert second.paths - first.paths == {"b.txt", "c/3.txt"}
    third = await office.look(ingest_data_max_files=2)
    assert not third.status["limitReached"]
    assert len(third.paths) == 5
    assert third.counts["discovered"] == 1
    office.write("a/0.txt", "a late one at the beginning")
    assert "a/0.txt" in (await office.look(ingest_data_max_files=2)).paths


async def test_as_many_files_as_the_limit_do_not_reach_it(office: Office) -> None:
    office.write("a.txt", "one")
    office.write("b.txt", "two")
    assert not (await office.look(ingest_data_max_files=2)).status["limitReached"]


async def test_hidden_files_and_symbolic_links_are_passed_over_by_name_and_noise_in_silence(office: Office) -> None:
    office.write("real.txt", "a real file")
    office.write(".hidden.txt", "hidden")
    office.write(".git/config.txt", "hidden below")
    office.write("~$real.docx", "an owner file")
    (office.root / "link.txt").symlink_to("real.txt")
    (office.root / "folder").symlink_to("/")
    os.mkfifo(office.root / "pipe.txt")
    for noise in (".DS_Store", "Thumbs.db", "desktop.ini", "._real.txt", "__MACOSX/x.txt", ".~lock.real.odt#"):
        office.write(noise, "noise")
    look = await office.look()
    assert look.paths == {"real.txt"}
    assert look.skipped == dict.fromkeys(
        (".hidden.txt", ".git", "~$real.docx", "link.txt", "folder", "pipe.txt"), "skipped"
    )
    assert look.status["state"] == "completed"


async def test_every_file_that_gave_no_document_is_counted_and_listed_with_its_reason(office: Office) -> None:
    office.write("program.exe", b"MZ")
    office.write("large.txt", "x" * 2000)
    office.write("empty.txt")
    office.write("good.txt", "good text")
    office.write("same.txt", "good text")
    async with office.opened(max_upload_bytes=1000) as look:
        assert look.status["state"] == "completed_with_errors"
        assert look.counts == {
            "discovered": 5,
            "examined": 5,
            "queued": 1,
            "unchanged": 0,
            "duplicates": 1,
            "unsupported": 1,
            "oversized": 1,
            "failed": 1,
        }
        assert look.reason("program.exe").startswith("DOCUMENT_UNSUPPORTED_FORMAT: ")
        assert look.reason("large.txt").startswith("PAYLOAD_TOO_LARGE: ")
        assert look.reason("empty.txt").startswith("DOCUMENT_EMPTY: ")
        assert look.status["skippedTotal"] == 4
        (twin,) = [item for item in look.status["skipped"] if item["outcome"] == "duplicate"]
        assert twin["documentId"] == look.documents[0]["id"]

        only = (await look.client.get(f"{API}/ingest/scan-files", params={"outcome": "oversized"})).json()
        assert [item["path"] for item in only["items"]] == ["large.txt"]
        page = (await look.client.get(f"{API}/ingest/scan-files", params={"limit": "3"})).json()
        assert [item["path"] for item in page["items"]] == ["empty.txt", "large.txt", "program.exe"]
        rest = (await look.client.get(f"{API}/ingest/scan-files?limit=3&cursor={page['nextCursor']}")).json()
        assert [item["path"] for item in rest["items"]] == ["same.txt"]
        assert rest["nextCursor"] is None
        assert_error(await look.client.get(f"{API}/ingest/scan-files?cursor=x"), 400, "INVALID_CURSOR")
        assert_error(await look.client.get(f"{API}/ingest/scan-files?outcome=x"), 400, "INVALID_ARGUMENT", "outcome")


async def test_files_whose_document_or_archive_cannot_be_read_are_listed_too(office: Office) -> None:
    office.write("bad.json", "{")
    office.write("bad.zip", b"no archive at all")
    office.write("good.txt", "good text")
    async with office.opened() as look:
        assert look.counts["queued"] == 3
        look = await settled(look.client)
        assert look.skipped == {"bad.json": "failed", "bad.zip": "failed"}
        assert look.reason("bad.json").startswith("DOCUMENT_MALFORMED: ")
        assert look.reason("bad.zip").startswith("ARCHIVE_MALFORMED: ")
        assert look.status["skippedTotal"] == 2
    again = await office.look()
    assert again.counts["unchanged"] == 3
    assert set(again.skipped) == {"bad.json", "bad.zip"}


async def test_what_was_passed_over_is_forgotten_with_its_file(office: Office) -> None:
    office.write("program.exe", b"MZ")
    await office.look()
    (office.root / "program.exe").unlink()
    assert (await office.look()).status["skipped"] == []


async def test_a_file_that_cannot_be_read_stops_nothing_and_is_tried_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.write("bad.txt", "cannot be read at first")
    office.write("good.txt", "can be read")
    copy_file = folder_files.copy_file

    def refusing(root: Path, found: FoundFile, folder: Path, most: int) -> object:
        if found.path == "bad.txt":
            raise PermissionError(13, "Permission denied")
        return copy_file(root, found, folder, most)

    with monkeypatch.context() as patch:
        patch.setattr("mcp_knowledge.services.folder_scan.copy_file", refusing)
        look = await office.look()
    assert look.paths == {"good.txt"}
    assert look.skipped == {"bad.txt": "failed"}
    assert "Permission denied" in look.reason("bad.txt")
    assert (await office.look()).paths == {"good.txt", "bad.txt"}


async def test_a_file_that_changes_while_it_is_read_is_taken_by_the_next_scan(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = office.write("growing.txt", "half")
    copy = folder_files._copy

    def written_meanwhile(handle: int, folder: Path, most: int) -> tuple[Path, str, int]:
        copied = copy(handle, folder, most)
        file.write_text("half and half")
        return copied

    with monkeypatch.context() as patch:
        patch.setattr(folder_files, "_copy", written_meanwhile)
        look = await office.look()
    assert look.documents == []
    assert look.skipped == {"growing.txt": "changing"}
    assert list((office.settings["data_dir"] / "documents" / "uploads").iterdir()) == []
    async with office.opened() as look:
        assert await look.finds("half and half") == {look.document("growing.txt")["id"]}
        assert look.status["skipped"] == []


async def test_a_changed_file_becomes_the_next_revision_of_its_document(office: Office) -> None:
    office.write("a.txt", "the former wording")
    before = (await office.look()).document("a.txt")
    office.write("a.txt", "the present wording")
    async with office.opened() as look:
        after = look.document("a.txt")
        assert (after["id"], after["revision"]) == (before["id"], 2)
        assert await look.finds("the former wording") == set()
        assert await look.finds("the present wording") == {after["id"]}
        assert look.counts["queued"] == 1


async def test_a_touched_file_is_read_and_found_unchanged(office: Office) -> None:
    file = office.write("a.txt", "the same")
    before = (await office.look()).document("a.txt")
    os.utime(file, (1, 1))
    look = await office.look()
    assert look.document("a.txt")["revision"] == before["revision"]
    assert look.counts["unchanged"] == 1


async def test_a_file_that_becomes_unreadable_content_leaves_the_old_revision_in_search(office: Office) -> None:
    office.write("a.json", '{"place": "old harbour"}')
    before = (await office.look()).document("a.json")
    office.write("a.json", "{")
    async with office.opened() as look:
        after = look.document("a.json")
        assert after["id"] == before["id"]
        assert after["status"] == "ready"
        assert after["latestError"].startswith("DOCUMENT_MALFORMED: ")
        assert (await settled(look.client)).reason("a.json") == after["latestError"]
        assert await look.finds("old harbour") == {after["id"]}


async def test_a_renamed_file_keeps_its_document_which_gets_the_new_place(office: Office) -> None:
    office.write("old/report.txt", "what the report says")
    before = (await office.look()).document("old/report.txt")
    (office.root / "new").mkdir()
    (office.root / "old/report.txt").rename(office.root / "new/summary.txt")
    async with office.opened() as look:
        embedded = await look.embedded()
        (after,) = look.documents
        assert after["id"] == before["id"]
        assert after["revision"] == 1
        assert after["sourcePath"] == "new/summary.txt"
        assert after["originalFilename"] == "summary.txt"
        assert after["title"] == "summary"
        assert await look.finds("summary") == {after["id"]}
        assert look.counts["unchanged"] == 1
        assert (await settled(look.client)).status["skipped"] == []
        assert await look.embedded() == embedded
    assert (await office.look()).counts["unchanged"] == 1


async def test_a_title_that_its_user_set_survives_the_renaming(office: Office) -> None:
    file = office.write("a.txt", "some words")
    async with office.opened() as look:
        document_id = look.document("a.txt")["id"]
        await look.client.patch(f"{API}/documents/{document_id}", json={"title": "Mine"})
    file.rename(office.root / "b.txt")
    after = (await office.look()).document("b.txt")
    assert (after["id"], after["title"]) == (document_id, "Mine")


async def test_a_file_renamed_to_another_format_is_read_anew_in_the_same_document(office: Office) -> None:
    file = office.write("notes.txt", "# A heading\n\nwords below")
    before = (await office.look()).document("notes.txt")
    file.rename(office.root / "notes.md")
    after = (await office.look()).document("notes.md")
    assert after["id"] == before["id"]
    assert (after["extension"], after["title"]) == ("md", "A heading")


async def test_a_file_renamed_and_changed_is_another_document(office: Office) -> None:
    file = office.write("a.txt", "before")
    before = (await office.look()).document("a.txt")
    file.unlink()
    office.write("b.txt", "after")
    look = await office.look()
    assert look.document("a.txt")["id"] == before["id"]
    assert look.document("b.txt")["id"] != before["id"]


async def test_files_that_change_places_change_the_documents_of_their_places(office: Office) -> None:
    office.write("a.txt", "words of the first")
    office.write("b.txt", "words of the second")
    before = await office.look()
    (office.root / "a.txt").rename(office.root / "c")
    (office.root / "b.txt").rename(office.root / "a.txt")
    (office.root / "c").rename(office.root / "b.txt")
    async with office.opened() as look:
        assert len(look.documents) == 2
        assert await look.finds("words of the second") == {before.document("a.txt")["id"]}


async def test_a_missing_file_deletes_nothing(office: Office) -> None:
    file = office.write("a.txt", "still wanted")
    office.write("b.txt", "another")
    before = await office.look()
    file.unlink()
    async with office.opened() as look:
        assert look.paths == before.paths
        assert await look.finds("still wanted") == {before.document("a.txt")["id"]}


async def test_a_duplicate_becomes_a_document_when_the_other_file_changes(office: Office) -> None:
    office.write("a.txt", "shared words")
    office.write("b.txt", "shared words")
    first = await office.look()
    assert first.skipped == {"b.txt": "duplicate"}
    office.write("a.txt", "words of its own")
    async with office.opened() as look:
        assert look.skipped == {}
        assert await look.finds("shared words") == {look.document("b.txt")["id"]}
        assert look.counts["examined"] == 2


async def test_a_duplicate_takes_over_the_document_of_a_file_that_is_gone(office: Office) -> None:
    first = office.write("a.txt", "shared words")
    office.write("b.txt", "shared words")
    before = (await office.look()).document("a.txt")
    first.unlink()
    look = await office.look()
    assert look.document("b.txt")["id"] == before["id"]
    assert look.skipped == {}


async def test_a_document_deleted_by_hand_stays_away_until_its_file_changes(office: Office) -> None:
    file = office.write("a.txt", "not wanted")
    async with office.opened() as look:
        await look.client.delete(f"{API}/documents/{look.document('a.txt')['id']}")
    look = await office.look()
    assert look.documents == []
    assert look.skipped == {"a.txt": "deleted"}
    os.utime(file, (1, 1))
    moved = file.rename(office.root / "moved.txt")
    assert (await office.look()).documents == []
    moved.write_text("wanted again")
    assert (await office.look()).paths == {"moved.txt"}


async def test_all_files_with_the_content_of_a_deleted_document_stay_away(office: Office) -> None:
    office.write("a.txt", "not wanted")
    office.write("b.txt", "not wanted")
    async with office.opened() as look:
        await look.client.delete(f"{API}/documents/{look.document('a.txt')['id']}")
    look = await office.look()
    assert look.documents == []
    assert look.skipped == {"a.txt": "deleted", "b.txt": "deleted"}


async def test_a_duplicate_of_an_upload_becomes_a_document_when_the_upload_is_deleted(office: Office) -> None:
    async with office.opened(ingest_data_dir=None) as look:
        await look.client.post(f"{API}/documents", files={"file": ("mine.txt", b"known words")})
        await settled(look.client)
    office.write("a.txt", "known words")
    async with office.opened() as look:
        assert look.skipped == {"a.txt": "duplicate"}
        await look.client.delete(f"{API}/documents/{look.documents[0]['id']}")
    look = await office.look()
    assert look.paths == {"a.txt"}
    assert look.counts["examined"] == look.counts["queued"] == 1


async def test_an_archive_that_failed_is_imported_when_it_was_touched_after_a_limit_was_raised(office: Office) -> None:
    file = office.write("box.zip", a="alpha", b="beta")
    look = await office.look(max_archive_entries=1)
    assert look.skipped == {"box.zip": "failed"}
    assert (await office.look()).skipped == {"box.zip": "failed"}
    os.utime(file)
    look = await office.look()
    assert (look.paths, look.skipped) == ({"a.txt", "b.txt"}, {})
    os.utime(file)
    assert (await office.look()).counts["unchanged"] == 1


async def test_after_a_purge_the_next_scan_brings_the_folder_back(office: Office) -> None:
    office.write("a.txt", "some words")
    async with office.opened() as look:
        former = look.document("a.txt")["id"]
        await look.client.post(f"{API}/documents/purge", json={"confirm": "purge"})
        status = (await look.client.get(f"{API}/ingest/scan-status")).json()
        assert (status["state"], status["completedAt"], status["skipped"]) == ("completed", None, [])
        assert "Not scanned since everything was removed" in (await look.client.get("/imports")).text
    after = await office.look()
    assert after.paths == {"a.txt"}
    assert after.document("a.txt")["id"] != former


async def test_a_file_that_was_uploaded_before_is_a_duplicate_and_not_the_folders(office: Office) -> None:
    async with office.opened(ingest_data_dir=None) as look:
        await look.client.post(f"{API}/documents", files={"file": ("mine.txt", b"known words")})
        await settled(look.client)
    office.write("a.txt", "known words")
    look = await office.look()
    assert look.skipped == {"a.txt": "duplicate"}
    assert look.documents[0]["originalFilename"] == "mine.txt"


async def test_names_that_are_hard_to_spell_are_read_all_the_same(office: Office) -> None:
    names = [b"caf\xe9.txt", b"line\nbreak.txt", "Ae\u0308rger.txt".encode(), b"back\\slash.txt", b"UPPER.TXT"]
    for number, name in enumerate(names):
        office.write(os.fsdecode(name), f"text number {number}")
    look = await office.look()
    assert look.paths == {"caf\\xe9.txt", "line\nbreak.txt", "Ae\u0308rger.txt", "back\\slash.txt", "UPPER.TXT"}
    assert look.document("caf\\xe9.txt")["title"] == "caf\u00e9"
    assert look.document("line\nbreak.txt")["title"] == "linebreak"
    again = await office.look(ingest_data_prune=True)
    assert {item["id"] for item in again.documents} == {item["id"] for item in look.documents}


@pytest.mark.parametrize("kind", ["missing", "file"])
async def test_a_folder_that_is_not_there_fails_the_scan_and_not_the_service(office: Office, kind: str) -> None:
    office.root.rmdir()
    if kind == "file":
        office.root.write_text("no folder")
    async with office.opened() as look:
        assert look.status["state"] == "failed"
        assert look.status["error"].startswith("INGEST_DATA_UNAVAILABLE: The folder of INGEST_DATA_DIR ")
        assert (await look.client.get("/health")).json() == {"ok": True}


@pytest.mark.parametrize("place", [".", "data", "data/inbox", "data/documents/inbox"])
def test_the_folder_and_the_services_own_data_must_be_apart(tmp_path: Path, place: str) -> None:
    with pytest.raises(SettingsError, match="INGEST_DATA_DIR must not lie in the service's own data"):
        load_settings(data_dir=tmp_path / "data", ingest_data_dir=tmp_path / place)


def test_an_empty_setting_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGEST_DATA_DIR", "")
    assert load_settings().ingest_data_dir is None


async def test_archives_are_imported_and_again_when_they_change(office: Office) -> None:
    office.write("box/bundle.zip", one="first of the box", two="second of the box")
    async with office.opened() as look:
        assert look.counts["queued"] == 1
        assert look.paths == {"one.txt", "two.txt"}
        before = look.document("one.txt")["id"]
    office.write("box/bundle.zip", one="first of the box", two="another second", three="a third")
    async with office.opened() as look:
        assert look.paths == {"one.txt", "two.txt", "three.txt"}
        assert look.document("one.txt")["id"] == before
        assert await look.finds("second of the box") == set()
        assert len((await look.client.get(f"{API}/archives")).json()["items"]) == 2
    (office.root / "box/bundle.zip").rename(office.root / "moved.zip")
    async with office.opened() as look:
        imports = (await look.client.get(f"{API}/archives")).json()["items"]
        assert {item["sourcePath"] for item in imports} == {"moved.zip"}
        assert len(imports) == 2


async def test_a_scan_that_fails_inside_says_so_and_the_service_goes_on(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.write("a.txt", "words")

    def broken(*_: object) -> object:
        raise RuntimeError("a fault of ours")

    with monkeypatch.context() as patch:
        patch.setattr("mcp_knowledge.services.folder_scan.copy_file", broken)
        look = await office.look()
    assert look.status["state"] == "failed"
    assert look.status["error"].startswith("INTERNAL_ERROR: ")
    assert (await office.look()).paths == {"a.txt"}


async def test_the_dashboard_shows_the_scan_and_every_file_that_it_passed_over(office: Office) -> None:
    office.write("good.txt", "good text")
    for number in range(25):
        office.write(f"{number:02}.exe", b"MZ")
    (office.root / "<b>bold.txt").symlink_to("good.txt")
    async with office.opened() as look:
        panel = (await look.client.get("/imports")).text
        assert "26 files: 1 new or changed, 25 of other formats." in panel
        assert "26 files passed over or failed" in panel
        assert "This file format is not supported." in panel
        page = (await look.client.get("/folder")).text
        assert all(f"<bdi>{number:02}.exe</bdi>" in page for number in range(25))
        assert "&lt;b&gt;bold.txt" in page
        assert "Save it as PDF" in page
        assert 'href="/" aria-current="true"' in page
        chosen = (await look.client.get("/folder?show=skipped")).text
        assert "bold.txt" in chosen
        assert "00.exe" not in chosen
    assert "INGEST_DATA_DIR" in (await _imports_page(office, ingest_data_dir=None))
    office.root.rename(office.root.with_name("elsewhere"))
    assert "does not exist" in (await _imports_page(office))


async def _imports_page(office: Office, **settings: object) -> str:
    async with office.opened(**settings) as look:
        return (await look.client.get("/imports")).text
