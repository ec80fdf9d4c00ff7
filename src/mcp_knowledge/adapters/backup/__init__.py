"""Backups of the embedded database with its originals: one file, written and read strictly."""
