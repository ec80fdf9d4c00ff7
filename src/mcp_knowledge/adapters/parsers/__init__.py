"""Parsers, one module a format, run in a sandboxed subprocess."""
