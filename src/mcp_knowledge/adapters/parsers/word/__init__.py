"""Word processor files."""
