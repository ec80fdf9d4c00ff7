"""Private document retrieval with a built-in dashboard and an explainable search playground, in one process."""

from importlib.metadata import version

__version__ = version("mcp-knowledge")
