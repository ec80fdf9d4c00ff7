-- The orders of the list of documents: a page of it reads its own rows, however many there are. Not that of titles, which
-- may be longer than an entry of an index.
CREATE INDEX documents_updated ON documents (updated_at_ms, id);
CREATE INDEX documents_size ON documents (size_bytes, id);
