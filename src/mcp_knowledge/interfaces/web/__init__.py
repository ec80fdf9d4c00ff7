"""The server-rendered dashboard."""
