"""Statements of both databases, written once, and the stores over them."""
