"""`doctor`: try each part for real, and name the next step for what fails."""

import asyncio
import errno
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_knowledge.errors import KnowledgeError, StartupError
from mcp_knowledge.interfaces.listener import bind
from mcp_knowledge.interfaces.running_servers import find_server
from mcp_knowledge.settings import MIB, Settings

_FILE_STEP = "If the file is damaged, restore a backup into an empty folder; 'mcp-knowledge verify' says more."
_DATABASE_STEPS = {"postgres": "Check DATABASE_URL, and whether the server runs and lets this machine in."}
_ACCESS_STEP = "Give this user write access to the folder, or set DATA_DIR to another one."
_DISK_STEPS = {
    errno.ENOSPC: "Make room on the disk. What waits goes on by itself then.",
    errno.EROFS: "Mount the disk for writing, or set DATA_DIR to another folder.",
}
_LOW_DISK_BYTES = 512 * MIB


@dataclass(frozen=True, slots=True)
class Check:
    """One part's verdict. `next_step` says what to do when it is not ok."""

    name: str
    ok: bool
    detail: str
    next_step: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON shape."""
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "nextStep": self.next_step}


def examine(settings: Settings) -> list[Check]:
    """Every check, in the order in which a start needs them."""
    checks = [_disk(settings), _port(settings)]
    return checks + asyncio.run(_services(settings, checks[0].ok))


def _disk(settings: Settings) -> Check:
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.data_dir) as probe:
            probe.write(b"probe")
    except OSError as error:
        return Check(
            "disk",
            False,
            f"{settings.data_dir} cannot be written: {error.strerror}",
            _DISK_STEPS.get(error.errno or 0, _ACCESS_STEP),
        )
    free_bytes = shutil.disk_usage(settings.data_dir).free
    detail = f"{settings.data_dir.resolve()}, {free_bytes // MIB:,} MiB free"
    if free_bytes < _LOW_DISK_BYTES:
        return Check("disk", False, detail, "Free some disk space: uploads need room for the original and its index.")
    return Check("disk", True, detail)


def _port(settings: Settings) -> Check:
    running = find_server(settings.data_dir)
    if running is not None:
        return Check("port", True, f"a server for this data directory runs at {running.url}")
    try:
        bind(settings.host, settings.port).close()
    except StartupError as error:
        return Check("port", False, str(error), "Run 'mcp-knowledge serve --port 0' to take any free port.")
    return Check("port", True, f"{settings.host}:{settings.port} is free")


async def _services(settings: Settings, storage_ok: bool) -> list[Check]:
    from mcp_knowledge.adapters.minilm import MiniLmEmbedder
    from mcp_knowledge.adapters.parsers.sandbox import SandboxedParser
    from mcp_knowledge.app import open_services

    async def database() -> str:
        if not storage_ok:
            raise StartupError("not tried, as the storage cannot be used")
        alone = settings.model_copy(update={"storage_driver": "local"})  # a fault of the bucket's is told below
        async with open_services(alone) as services:
            health = await services.status.database()
        return f"{health.driver}, migration {health.migration}, {health.size_bytes / MIB:.1f} MiB"

    async def originals() -> str:
        async with open_services(settings) as services:
            await services.status.try_storage()
        return f"{settings.originals_address}: a file was stored, read and deleted"

    async def model() -> str:
        embedder = MiniLmEmbedder(settings)
        vector = await embedder.embed_query("Does the model answer?")
        return f"{embedder.model}, {vector.shape[0]} dimensions"

    async def parsers() -> str:
        parser = SandboxedParser(settings)
        try:
            with tempfile.TemporaryDirectory() as folder:
                sample = Path(folder) / "sample.md"
                sample.write_text("# Sample\n\nOne paragraph.\n")
                parsed = await parser.parse(sample, sample.name)
            network = "without network" if parser.confined else "this system cannot keep it from the network"
        finally:
            await parser.close()
        return f"the sandbox works ({parsed.parser_name} {parsed.parser_version}; {network})"

    async def index() -> str:
        async with open_services(settings) as services:
            status = await services.status.system()
        if not status.embedding_healthy:
            raise KnowledgeError("EMBEDDING_MISMATCH")
        return "its vectors are this model's"

    database_step = _DATABASE_STEPS.get(settings.database_driver, _FILE_STEP)
    checks = [
        await _attempt("database", database, database_step if storage_ok else "Mend the storage first."),
        await _attempt(
            "model", model, "Install again, or set EMBEDDING_MODEL_PATH to a folder with model.onnx and tokenizer.json."
        ),
        await _attempt("parsers", parsers, "Install again; parsers run as subprocesses, which this system must allow."),
    ]
    if checks[0].ok:
        next_step = (
            "Correct S3_BUCKET, S3_ENDPOINT, S3_REGION or the credentials (AWS_ACCESS_KEY_ID), or start the server."
            if settings.storage_driver == "s3"
            else "Give this user write access to the folder of the originals, or set STORAGE_PATH to another one."
        )
        checks.insert(1, await _attempt("originals", originals, next_step))
    if all(check.ok for check in checks if check.name in ("database", "originals", "model")):
        checks.append(await _attempt("index", index, "Run 'mcp-knowledge reindex --all'; lexical search works."))
    return checks


async def _attempt(name: str, try_it: Callable[[], Awaitable[str]], next_step: str) -> Check:
    try:
        return Check(name, True, await try_it())
    except (KnowledgeError, StartupError) as error:
        return Check(name, False, str(error), next_step)
    except Exception as error:  # a diagnosis must survive whatever is broken
        return Check(name, False, f"{type(error).__name__}: {error}", next_step)
