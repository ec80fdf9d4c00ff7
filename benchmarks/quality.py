"""How well each mode ranks: every judged set below a folder, through the real ingestion and the real search.

    python benchmarks/quality.py DIR [--set NAME …]

A set is a folder with docs.jsonl ({id, title, text}) and queries.jsonl ({id, query, relevant, kind}). Prints a Markdown
table of nDCG@10, and with --full recall@5, recall@10, MRR@10 and milliseconds a query as well.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

from mcp_knowledge.app import open_services
from mcp_knowledge.domain.evaluations import METRIC_NAMES
from mcp_knowledge.services.evaluation_folders import Evaluation, add_documents, evaluate, read_judged_set, settings_for
from mcp_knowledge.settings import load_settings


async def run(folder: Path) -> list[Evaluation]:
    """Every run over one set, in a temporary data directory."""
    judged = read_judged_set(folder)
    with tempfile.TemporaryDirectory() as temporary:
        async with open_services(load_settings(data_dir=Path(temporary))) as services:
            document_ids = await add_documents(services.library, judged.documents or ())
            await services.worker.drain()
            return await evaluate(services.evaluations.measuring, judged, settings_for(None, None), document_ids)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", dest="sets", nargs="+", help="names of folders below it [default: all]")
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    names = arguments.sets or sorted(path.parent.name for path in arguments.folder.glob("*/docs.jsonl"))
    if arguments.full:
        print("| set | run | recall@5 | recall@10 | MRR@10 | nDCG@10 | p50 ms | p95 ms |\n" + 8 * "|---" + "|")
    else:
        print("| set | vector | lexical | hybrid, RRF | hybrid, relative |\n|---|---|---|---|---|")
    for name in names:
        results = asyncio.run(run(arguments.folder / name))
        if not arguments.full:
            print(f"| {name} | {' | '.join(f'{item.metrics.ndcg_at_10:.4f}' for item in results)} |", flush=True)
            continue
        for item in results:
            metrics = item.metrics
            figures = " | ".join(f"{metrics.value(metric):.4f}" for metric in METRIC_NAMES)
            latencies = f"{metrics.p50_ms:.1f} | {metrics.p95_ms:.1f}"
            print(f"| {name} | {item.settings.name} | {figures} | {latencies} |", flush=True)


if __name__ == "__main__":
    main()
