"""The process that draws pages: `python -m mcp_knowledge.adapters.parsers.page_worker LIMITS`.

It reads requests `{path, page, width, passage}` from stdin and answers each on stdout with a frame `{image, pages}`,
the image in base64, or `{error}` with a public code; `{error, fault}` when that was not expected. It ends when stdin
does.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

from mcp_knowledge.adapters.parsers import framing
from mcp_knowledge.adapters.parsers.faults import fault_of
from mcp_knowledge.adapters.parsers.pdf.drawing import draw_page
from mcp_knowledge.adapters.parsers.restraints import limit_cpu, restrain, take_streams
from mcp_knowledge.errors import KnowledgeError


def main() -> None:
    """Serve requests until stdin ends."""
    limits = json.loads(sys.argv[1])
    requests, answers = take_streams()
    framing.send(answers, {"ready": True, "confined": restrain(limits["memory_bytes"])})
    while (request := framing.read(requests)) is not None:
        limit_cpu(limits["cpu_seconds"])
        framing.send(answers, _answer(request))


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        image, pages = draw_page(Path(request["path"]), request["page"], request["width"], request["passage"])
        return {"image": base64.b64encode(image).decode("ascii"), "pages": pages}
    except KnowledgeError as error:
        return {"error": error.code}
    except (MemoryError, RecursionError):
        return {"error": "DOCUMENT_RESOURCE_LIMIT"}
    except (OSError, ImportError) as error:  # it could not be opened or a library is missing: nothing the file did
        return {"error": "INTERNAL_ERROR", "fault": fault_of(error)}
    except BaseException as error:  # whatever a library makes of a damaged file
        return {"error": "DOCUMENT_MALFORMED", "fault": fault_of(error)}


if __name__ == "__main__":
    main()
