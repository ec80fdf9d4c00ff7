"""PostgreSQL with pgvector: for a team, and for many processes at once."""
