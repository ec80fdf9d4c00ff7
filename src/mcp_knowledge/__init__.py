"""Private document retrieval with a built-in dashboard and an explainable search playground, in one process."""


def __getattr__(name: str) -> str:
    """`__version__`, read on first use: parser processes start 20 ms sooner without it."""
    if name == "__version__":
        from importlib.metadata import version

        return version("mcp-knowledge")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
