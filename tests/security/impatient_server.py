"""A server that is as ours but for its patience, so that tests need not wait for minutes, and for how much it may open.

Run as `python impatient_server.py DATA_DIR DESCRIPTORS`.
"""

import resource
import sys
from pathlib import Path

from mcp_knowledge.app import create_app
from mcp_knowledge.interfaces.connections import Patience
from mcp_knowledge.interfaces.serving import serve
from mcp_knowledge.settings import load_settings

IMPATIENCE = Patience(head_s=1.0, idle_s=1.0, rest_s=0.3, write_s=1.0, stalled_s=0.5, sweep_s=0.05)
WINDOW_S = 1.0
GRACE_S = 0.2


def main() -> None:
    """Serve until the process is told to stop."""
    descriptors = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    settings = load_settings(data_dir=Path(sys.argv[1]), port=0)
    app = create_app(settings)
    app.state.bodies.window_s, app.state.bodies.grace_s = WINDOW_S, GRACE_S
    serve(app, settings, lambda url: print(url, flush=True), IMPATIENCE)


if __name__ == "__main__":
    main()
