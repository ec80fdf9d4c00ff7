"""`python -m mcp_knowledge` is the same as `mcp-knowledge`."""

from mcp_knowledge.interfaces.cli import main

main()
