-- The orders of the list of documents: a page of it reads its own rows, however many there are.
CREATE INDEX documents_updated ON documents (updated_at_ms, id);
CREATE INDEX documents_size ON documents (size_bytes, id);
CREATE INDEX documents_title ON documents (title_key, id);
