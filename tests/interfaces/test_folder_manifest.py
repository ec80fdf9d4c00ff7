"""The manifest of the scanned folder, as it works on documents."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from folder_kit import Office, settled
from rest_kit import API

from mcp_knowledge.domain.manifest import Manifest

NAME = ".mcp-knowledge-manifest.json"


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def manifest(office: Office, *rules: tuple[str, dict[str, Any]], at: str = NAME) -> None:
    office.write(at, json.dumps({"rules": [{"glob": glob, "metadata": metadata} for glob, metadata in rules]}))


async def test_the_manifest_gives_metadata_that_filters_find(office: Office) -> None:
    office.write("contracts/a.txt", "alpha harbour")
    office.write("notes/b.txt", "beta harbour")
    manifest(office, ("**", {"team": "all"}), ("contracts/**", {"team": "legal", "year": 2024}))
    async with office.opened() as look:
        assert look.document("contracts/a.txt")["metadata"]["team"] == "legal"
        assert look.document("notes/b.txt")["metadata"]["team"] == "all"
        body = {"query": "harbour", "filters": {"year": {"gte": 2024}}}
        hits = (await look.client.post(f"{API}/search", json=body)).json()["hits"]
        assert {hit["documentId"] for hit in hits} == {look.document("contracts/a.txt")["id"]}
        assert look.skipped == {}


async def test_a_manifest_below_the_root_neither_counts_nor_is_ingested(office: Office) -> None:
    office.write("sub/a.txt", "alpha")
    manifest(office, ("**", {"team": "wrong"}), at=f"sub/{NAME}")
    look = await office.look()
    assert "team" not in look.document("sub/a.txt")["metadata"]
    assert look.paths == {"sub/a.txt"}
    assert look.skipped == {f"sub/{NAME}": "skipped"}


@pytest.mark.parametrize("fault", ["content", "folder", "link"])
async def test_an_invalid_manifest_fails_the_scan_before_any_file_is_read(office: Office, fault: str) -> None:
    office.write("a.txt", "alpha")
    path = office.root / NAME
    if fault == "content":
        manifest(office, ("ok", {}), ("/absolute", {}))
    elif fault == "folder":
        office.write(f"{NAME}/a.txt", "in a folder of that name")
    else:
        path.symlink_to(office.write("elsewhere.json", '{"rules": []}'))
    look = await office.look()
    assert look.status["state"] == "failed"
    assert look.status["error"].startswith("INVALID_INGEST_MANIFEST: The manifest is not valid: ")
    assert fault != "content" or "rule 2" in look.status["error"]
    assert look.counts["examined"] == 0
    assert look.documents == []


async def test_a_manifest_that_is_mended_lets_the_next_scan_go_on(office: Office) -> None:
    office.write("a.txt", "alpha")
    office.write(NAME, "{")
    await office.look()
    manifest(office, ("a.txt", {"x": 1}))
    look = await office.look()
    assert look.status["state"] == "completed"
    assert look.status["error"] is None
    assert look.document("a.txt")["metadata"]["x"] == 1


async def test_a_changed_manifest_imports_exactly_those_again_whose_metadata_it_changes(office: Office) -> None:
    office.write("a.txt", "alpha harbour")
    office.write("b.txt", "beta harbour")
    office.write("c.txt", "gamma harbour")
    manifest(office, ("a.txt", {"x": 1}), ("b.txt", {"x": 1}))
    async with office.opened() as before:
        for name in ("a.txt", "c.txt"):
            edited = {"metadata": {"mine": True}, "title": f"My {name}"}
            await before.client.patch(f"{API}/documents/{before.document(name)['id']}", json=edited)
        embedded = await before.embedded()
    manifest(office, ("*.txt", {"x": 1}), ("a.txt", {"x": 2}), ("c.txt", {"x": None}))
    manifest(office, ("[", {}), at="ignored.json")
    (office.root / "ignored.json").unlink()
    async with office.opened() as look:
        assert look.counts["queued"] == 2
        assert look.document("b.txt")["id"] == before.document("b.txt")["id"]
        for name in ("a.txt", "c.txt"):
            former = before.document(name)["id"]
            assert look.document(name)["id"] != former
            assert look.document(name)["title"] == f"My {name}"
            assert (await look.client.get(f"{API}/documents/{former}")).status_code == 404
        assert look.document("a.txt")["metadata"]["x"] == 2
        assert "mine" not in look.document("a.txt")["metadata"]
        assert await look.finds("alpha harbour") == {look.document("a.txt")["id"]}
        assert await look.embedded() == embedded  # no passage has changed
    assert (await office.look()).counts["unchanged"] == 3


async def test_rules_in_another_order_with_the_same_outcome_change_nothing(office: Office) -> None:
    office.write("a.txt", "alpha")
    manifest(office, ("a.txt", {"x": 1}), ("*", {"y": 1}))
    before = await office.look()
    manifest(office, ("*", {"y": 1}), ("a.txt", {"x": 1}))
    after = await office.look()
    assert after.document("a.txt")["id"] == before.document("a.txt")["id"]


async def test_metadata_of_its_user_stays_when_a_file_changes_and_the_manifest_does_not(office: Office) -> None:
    office.write("a.txt", "alpha")
    manifest(office, ("a.txt", {"x": 1}))
    async with office.opened() as look:
        await look.client.patch(f"{API}/documents/{look.document('a.txt')['id']}", json={"metadata": {"mine": 1}})
    office.write("a.txt", "alpha changed")
    metadata = (await office.look()).document("a.txt")["metadata"]
    assert metadata["mine"] == 1
    assert "x" not in metadata


async def test_when_the_new_import_fails_the_old_document_stays(office: Office) -> None:
    office.write("a.json", '{"place": "old harbour"}')
    before = await office.look()
    office.write("a.json", "{")
    manifest(office, ("a.json", {"x": 1}))
    async with office.opened() as look:
        assert len(look.documents) == 2
        assert {item["status"] for item in look.documents} == {"ready", "failed"}
        assert await look.finds("old harbour") == {before.document("a.json")["id"]}
    office.write("a.json", '{"place": "new harbour"}')
    async with office.opened() as look:
        assert (await settled(look.client)).document("a.json")["metadata"]["x"] == 1
        assert await look.finds("old harbour") == set()


async def test_a_replacement_deleted_before_it_was_ready_leaves_the_old_document_in_charge(office: Office) -> None:
    office.write("a.json", '{"place": "old harbour"}')
    before = (await office.look()).document("a.json")
    office.write("a.json", "{")
    manifest(office, ("a.json", {"x": 1}))
    async with office.opened() as look:
        (failed,) = [item for item in look.documents if item["status"] == "failed"]
        await look.client.delete(f"{API}/documents/{failed['id']}")
    office.write("a.json", '{"place": "new harbour"}')
    async with office.opened() as look:
        assert look.document("a.json")["id"] == before["id"]
        assert await look.finds("new harbour") == {before["id"]}


async def test_a_moved_file_gets_the_metadata_of_its_new_place(office: Office) -> None:
    file = office.write("inbox/a.txt", "alpha")
    manifest(office, ("inbox/*", {"state": "new"}), ("done/*", {"state": "done"}))
    before = (await office.look()).document("inbox/a.txt")
    (office.root / "done").mkdir()
    file.rename(office.root / "done/a.txt")
    after = (await office.look()).document("done/a.txt")
    assert after["id"] == before["id"]
    assert after["metadata"]["state"] == "done"


async def test_the_manifest_never_sets_the_place(office: Office) -> None:
    office.write("a.txt", "alpha")
    manifest(office, ("a.txt", {"sourcePath": "elsewhere.txt"}))
    assert (await office.look()).paths == {"a.txt"}


async def test_the_manifest_does_not_reach_into_archives(office: Office) -> None:
    office.write("box.zip", inner="text in the box")
    manifest(office, ("**", {"x": 1}), ("box.zip", {"x": 2}), ("inner.txt", {"x": 3}))
    before = (await office.look()).document("inner.txt")
    assert "x" not in before["metadata"]
    manifest(office, ("**", {"x": 9}))
    look = await office.look()
    assert look.counts["queued"] == 0
    assert look.document("inner.txt")["id"] == before["id"]


async def test_rules_that_add_up_to_too_much_fail_their_file_alone(office: Office) -> None:
    office.write("a.txt", "alpha")
    office.write("b.md", "beta")
    manifest(office, ("*", {"p": "x" * 40_000}), ("*.txt", {"q": "x" * 40_000}))
    look = await office.look()
    assert look.paths == {"b.md"}
    assert look.reason("a.txt").startswith("INVALID_METADATA: ")


async def test_a_manifest_of_many_rules_is_matched_off_the_event_loop(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[threading.Thread] = set()
    match = Manifest.metadata_for

    def metadata_for(self: Manifest, path: str) -> dict[str, Any]:
        threads.add(threading.current_thread())
        return match(self, path)

    monkeypatch.setattr(Manifest, "metadata_for", metadata_for)
    office.write("a.txt", "alpha")
    manifest(office, *((f"**/*{number}*", {"number": number}) for number in range(500)), ("*.txt", {"team": "all"}))
    look = await office.look()
    assert look.document("a.txt")["metadata"]["team"] == "all"
    assert threads and threading.main_thread() not in threads
