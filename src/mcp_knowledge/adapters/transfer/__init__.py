"""Copying a corpus from one database to another, SQLite or PostgreSQL, row by row as it is."""
