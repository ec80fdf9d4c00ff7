"""The embedding model, with its real file."""

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mcp_knowledge.adapters.minilm import MiniLmEmbedder
from mcp_knowledge.errors import KnowledgeError
from mcp_knowledge.settings import MODEL_DIR, load_settings

TEXTS = [
    "The harbour office pays invoices for oranges in March.",
    "Tides",
    "A very different sentence about the orbit of a telescope and its mirrors. " * 6,
    "INV-0042",
    "",
]


@pytest.fixture(scope="module")
def embedder() -> Iterator[MiniLmEmbedder]:
    made = MiniLmEmbedder(load_settings(_env_file=None))
    yield made
    made.close()


def test_the_vendored_files_are_those_that_the_notice_names() -> None:
    notice = (MODEL_DIR / "README.md").read_text()
    for name in ("model.onnx", "tokenizer.json"):
        assert hashlib.sha256((MODEL_DIR / name).read_bytes()).hexdigest() in notice
    assert "Apache License" in (MODEL_DIR / "LICENSE").read_text()


async def test_vectors_are_unit_length_and_in_the_order_of_the_texts(embedder: MiniLmEmbedder) -> None:
    vectors = await embedder.embed_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), 384) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    query = await embedder.embed_query("Who pays for the oranges?")
    assert int(np.argmax(vectors @ query)) == 0


async def test_a_text_has_the_same_vector_alone_in_a_batch_and_as_a_query(embedder: MiniLmEmbedder) -> None:
    texts = [*TEXTS, *(f"{text} {number}" for number in range(40) for text in TEXTS)]
    together = await embedder.embed_passages(texts)
    for index in range(0, len(texts), 7):
        alone = await embedder.embed_passages([texts[index]])
        assert np.allclose(alone[0], together[index], atol=1e-6)
        assert np.allclose(await embedder.embed_query(texts[index]), together[index], atol=1e-6)


async def test_no_texts_give_no_vectors(embedder: MiniLmEmbedder) -> None:
    assert (await embedder.embed_passages([])).shape == (0, 384)


async def test_a_text_beyond_the_window_is_read_up_to_it(embedder: MiniLmEmbedder) -> None:
    long = "harbour " * 254
    vectors = await embedder.embed_passages([long, long + "telescope " * 500])
    assert np.array_equal(vectors[0], vectors[1])


async def test_a_query_overtakes_passages_that_wait(embedder: MiniLmEmbedder) -> None:
    passages = asyncio.create_task(embedder.embed_passages([f"Passage {number}. " * 40 for number in range(60)]))
    await asyncio.sleep(0)
    await embedder.embed_query("a question in between")
    assert not passages.done()
    await passages


async def test_the_loop_goes_on_while_passages_are_embedded(embedder: MiniLmEmbedder) -> None:
    passages = asyncio.create_task(embedder.embed_passages(["A sentence of some length. " * 30] * 20))
    turns = 0
    while not passages.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 20


def test_tokens_and_their_places_agree(embedder: MiniLmEmbedder) -> None:
    text = "Überprüfung of INV-0042, 检索."
    offsets = embedder.token_offsets(text)
    assert embedder.count_tokens([text, "", "word"]) == [len(offsets), 0, 1]
    assert [text[start:end] for start, end in offsets][-3:] == ["检", "索", "."]


def test_the_fingerprint_depends_on_model_dimensions_and_prefix(embedder: MiniLmEmbedder, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"another model")
    other = MiniLmEmbedder(load_settings(_env_file=None, embedding_model_path=tmp_path))
    wider = MiniLmEmbedder(load_settings(_env_file=None, embedding_dimensions=768))
    assert len({embedder.fingerprint, other.fingerprint, wider.fingerprint}) == 3
    assert embedder.fingerprint.startswith(hashlib.sha256((MODEL_DIR / "model.onnx").read_bytes()).hexdigest())


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
async def test_a_damaged_model_is_a_clear_failure(tmp_path: Path, name: str) -> None:
    for file in ("model.onnx", "tokenizer.json"):
        content = (MODEL_DIR / file).read_bytes()
        (tmp_path / file).write_bytes(content[: len(content) // 2] if file == name else content)
    damaged = MiniLmEmbedder(load_settings(_env_file=None, embedding_model_path=tmp_path))

    with pytest.raises(KnowledgeError, match=f"SERVICE_UNAVAILABLE: .*{name} cannot be read or is damaged"):
        await damaged.embed_query("anything")
    damaged.close()


async def test_a_missing_or_unfit_model_is_a_clear_failure_without_paths(tmp_path: Path) -> None:
    missing = MiniLmEmbedder(load_settings(_env_file=None, embedding_model_path=tmp_path))
    with pytest.raises(KnowledgeError, match=r"tokenizer\.json is missing") as caught:
        await missing.embed_query("anything")
    assert caught.value.code == "SERVICE_UNAVAILABLE" and str(tmp_path) not in str(caught.value)
    wider = MiniLmEmbedder(load_settings(_env_file=None, embedding_dimensions=768))
    with pytest.raises(KnowledgeError, match="384 dimensions"):
        await wider.embed_query("anything")


def test_the_model_runs_without_a_report_to_its_makers(tmp_path: Path) -> None:
    """ONNX Runtime's official builds keep an id of the machine and a queue of reports below the home folder."""
    program = (
        "from mcp_knowledge.adapters.minilm import MiniLmEmbedder\n"
        "from mcp_knowledge.settings import load_settings\n"
        "import asyncio\n"
        "print(asyncio.run(MiniLmEmbedder(load_settings()).embed_query('tides')).shape)\n"
    )
    silencing = ("CI", "TF_BUILD", "GITHUB_ACTIONS", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in silencing}
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.stdout.strip() == "(384,)", result.stderr
    assert [*tmp_path.rglob("*")] == []
