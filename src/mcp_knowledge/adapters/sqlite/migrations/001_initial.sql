-- Numbers (…_no) are the internal keys; ids are the public ones. Numbers are never given twice (AUTOINCREMENT),
-- so that a cached number can go stale but never mean something else. Times are Unix milliseconds.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', 0);

CREATE TABLE collections (
    collection_no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,           -- NFKC and case folded: names are unique without regard to case
    description TEXT,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
);

-- What made a revision's index entries: a handful of rows that many revisions share.
CREATE TABLE index_versions (
    version_no INTEGER PRIMARY KEY,
    parser_name TEXT NOT NULL,
    parser_version TEXT NOT NULL,
    chunker_name TEXT NOT NULL,
    chunker_version TEXT NOT NULL,
    embedding_model TEXT NOT NULL,
    embedding_dimensions INTEGER NOT NULL,
    embedding_version TEXT NOT NULL,
    fingerprint TEXT NOT NULL,               -- of the embedding model
    UNIQUE (parser_name, parser_version, chunker_name, chunker_version,
            embedding_model, embedding_dimensions, embedding_version, fingerprint)
);

-- original_filename … sha256 are copies from the current revision (or the newest, before the first is ready):
-- lists need no join and a tombstone keeps its name after its revisions are gone.
CREATE TABLE documents (
    document_no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    collection_no INTEGER REFERENCES collections,
    status TEXT NOT NULL,                    -- pending, processing, ready, failed, deleting, deleted
    searchable INTEGER NOT NULL DEFAULT 0,   -- 1 while its chunks may answer; every search asks for it
    current_revision_no INTEGER,             -- the revision whose chunks are indexed
    newest_revision_no INTEGER,
    revision INTEGER NOT NULL,               -- number of the revision that the copies below come from
    chunk_count INTEGER NOT NULL DEFAULT 0,
    title_by_user INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    extension TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    title TEXT NOT NULL,
    title_key TEXT NOT NULL,                 -- case folded, for sorting and substring search
    original_filename TEXT NOT NULL,
    filename_key TEXT NOT NULL,              -- case folded, for substring search
    source_path TEXT,
    source_url TEXT,
    latest_error TEXT,
    metadata TEXT,                           -- the user's, JSON; NULL is {}
    properties TEXT                          -- the file's own, JSON, shown under `document`; NULL is {}
);
CREATE INDEX documents_created ON documents (created_at_ms);
CREATE INDEX documents_status ON documents (status, created_at_ms);
CREATE INDEX documents_collection ON documents (collection_no) WHERE collection_no IS NOT NULL;

CREATE TABLE revisions (
    revision_no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    document_no INTEGER NOT NULL REFERENCES documents,
    number INTEGER NOT NULL,
    version_no INTEGER REFERENCES index_versions,
    chunk_count INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    indexed_at_ms INTEGER,
    size_bytes INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    extension TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    original_filename TEXT NOT NULL,
    blob_key TEXT NOT NULL
);
CREATE UNIQUE INDEX revisions_document ON revisions (document_no, number);
CREATE INDEX revisions_sha256 ON revisions (sha256);

-- The normalized document of a current revision: what it says of itself …
CREATE TABLE revision_heads (
    revision_no INTEGER PRIMARY KEY REFERENCES revisions ON DELETE CASCADE,
    block_count INTEGER NOT NULL,
    title TEXT,
    metadata TEXT,                           -- JSON object; NULL is {}
    outline BLOB                             -- its headings, zlib over a JSON array of [block, level, text]; NULL is []
);
-- … and its blocks, in segments of neighbours, so that a page reads only what it shows.
CREATE TABLE revision_blocks (
    revision_no INTEGER NOT NULL REFERENCES revisions ON DELETE CASCADE,
    first_block INTEGER NOT NULL,
    blocks BLOB NOT NULL,                    -- zlib over a JSON array (content.py says more)
    PRIMARY KEY (revision_no, first_block)
) WITHOUT ROWID;

-- Chunks of current revisions only. Searches also ask for documents.searchable = 1.
CREATE TABLE chunks (
    chunk_no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,                        -- documents with equal bytes have equal chunk ids
    document_no INTEGER NOT NULL REFERENCES documents,
    revision_no INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    token_count INTEGER NOT NULL,
    embedding_hash BLOB NOT NULL,            -- BLAKE2b-128 of the text that the model read
    heading_path TEXT NOT NULL,              -- JSON array
    location TEXT NOT NULL,                  -- JSON object
    metadata TEXT,                           -- JSON object; NULL is {}
    content BLOB NOT NULL                    -- zlib over UTF-8
);
CREATE INDEX chunks_id ON chunks (id);
CREATE UNIQUE INDEX chunks_document ON chunks (document_no, sequence);

-- float32, little-endian, L2-normalised. No libsql_vector_idx is ever made: stock SQLite could not keep it.
CREATE TABLE chunk_vectors (
    chunk_no INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    vector F32_BLOB(384) NOT NULL
);

-- rowid = chunk_no; the columns hold domain.tokens.index_text of title, headings and content.
CREATE VIRTUAL TABLE chunk_fts USING fts5 (
    title, headings, content,
    content = '', contentless_delete = 1, tokenize = 'ascii'
);

-- "The searchable chunks of this document changed": one row per document, renumbered at every change,
-- so that a reader who remembers the highest seq it has seen finds exactly the documents to read again.
CREATE TABLE vector_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    document_no INTEGER NOT NULL UNIQUE
);

-- A document's metadata, flattened for filters: domain/filters.py says what the rows mean.
CREATE TABLE metadata_values (
    document_no INTEGER NOT NULL REFERENCES documents,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    number NUMERIC
);
CREATE INDEX metadata_values_document ON metadata_values (document_no);
CREATE INDEX metadata_values_text ON metadata_values (path, kind, text, document_no);
CREATE INDEX metadata_values_number ON metadata_values (path, kind, number, document_no) WHERE number IS NOT NULL;

CREATE TABLE jobs (
    job_no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,                      -- ingest, delete
    document_no INTEGER NOT NULL REFERENCES documents,
    revision_no INTEGER,
    status TEXT NOT NULL,                    -- queued, running, completed, failed, retrying, cancelled
    attempt INTEGER NOT NULL DEFAULT 0,      -- counts claims; the fencing token
    max_attempts INTEGER NOT NULL,
    visible_at_ms INTEGER NOT NULL,          -- when it may be claimed: ready time, retry time or end of the lease
    created_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER,
    completed_at_ms INTEGER,
    worker TEXT,
    stage TEXT,
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    error TEXT
);
CREATE INDEX jobs_created ON jobs (created_at_ms);
CREATE INDEX jobs_document ON jobs (document_no);
CREATE INDEX jobs_due ON jobs (visible_at_ms) WHERE status IN ('queued', 'running', 'retrying');
-- One active job per document, and so per revision.
CREATE UNIQUE INDEX jobs_active ON jobs (document_no) WHERE status IN ('queued', 'running', 'retrying');
