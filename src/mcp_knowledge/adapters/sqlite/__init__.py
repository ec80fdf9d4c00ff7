"""The embedded store: one SQLite file for rows, full text, vectors and the job queue."""
