"""Whatever a file is called and however it is filed, its key in the storage tells nothing of that."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mcp_knowledge.app import open_services
from mcp_knowledge.domain.blob_keys import is_own_key
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.services import Services
from mcp_knowledge.services.library import Filing, StoredUpload
from mcp_knowledge.settings import load_settings

NAMES = st.text(min_size=1, max_size=60) | st.sampled_from(
    ["../../etc/passwd", "originals/x", "a\r\nX-Header: 1", "..", "C:\\a", "%2e%2e%2f", "\0", "a" * 300]
)


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    async with open_services(load_settings(data_dir=tmp_path / "data")) as opened:
        yield opened


async def kept_as(services: Services, extension: str, upload: StoredUpload, filing: Filing) -> str:
    if extension == "zip":
        return (await services.archives.keep(upload, filing)).blob_key
    return (await services.library.keep(upload, filing)).blob_key


async def test_the_key_of_an_upload_holds_nothing_of_its_name(services: Services) -> None:
    loop = asyncio.get_running_loop()

    @given(NAMES, st.sampled_from(["txt", "zip"]), st.text(max_size=30), st.binary(min_size=32, max_size=32))
    @hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def keep(name: str, extension: str, source: str, digest: bytes) -> None:
        path = services.library.upload_dir() / "upload"
        path.write_bytes(b"x")
        upload = StoredUpload(path, f"{name}.{extension}", 1, digest.hex())
        filing = Filing(source_path=source, source_url=source, metadata={"name": name})
        try:
            key = asyncio.run_coroutine_threadsafe(kept_as(services, extension, upload, filing), loop).result(30)
        except KnowledgeError as error:
            assert error.code == "DOCUMENT_UNSUPPORTED_FORMAT"  # a name that is safe may have lost its extension
        else:
            assert is_own_key(key)

    await asyncio.to_thread(keep)
