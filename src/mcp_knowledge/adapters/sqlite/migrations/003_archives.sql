-- Archives: the import of a zip file. The table is its own queue; state, attempt and visible_at_ms mean what they do in jobs.
CREATE TABLE archives (
    archive_no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,                     -- queued, extracting, completed, completed_with_errors, failed
    attempt INTEGER NOT NULL DEFAULT 0,
    visible_at_ms INTEGER NOT NULL,
    worker TEXT,
    collection_no INTEGER REFERENCES collections,
    created_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER,
    completed_at_ms INTEGER,
    size_bytes INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    original_filename TEXT NOT NULL,
    source_path TEXT,                        -- where the zip lies in the scanned folder
    source_url TEXT,
    metadata TEXT,                           -- for each of its documents, JSON; NULL is {}
    blob_key TEXT,                           -- the zip, until the import has ended
    file_count INTEGER,                      -- NULL until the zip was looked into
    error TEXT                               -- CODE: message
);
CREATE INDEX archives_created ON archives (created_at_ms);
CREATE INDEX archives_source_path ON archives (source_path) WHERE source_path IS NOT NULL;
CREATE INDEX archives_collection ON archives (collection_no) WHERE collection_no IS NOT NULL;
CREATE INDEX archives_due ON archives (visible_at_ms) WHERE state IN ('queued', 'extracting');

-- What became of each entry; written in the transaction that makes its document.
CREATE TABLE archive_entries (
    archive_no INTEGER NOT NULL REFERENCES archives ON DELETE CASCADE,
    position INTEGER NOT NULL,               -- in the zip's directory, from 0
    path TEXT NOT NULL,
    outcome TEXT NOT NULL,                   -- extracted, duplicate, unsupported, oversized, failed
    document_no INTEGER REFERENCES documents,
    error TEXT,                              -- CODE: message
    PRIMARY KEY (archive_no, position)
) WITHOUT ROWID;
CREATE INDEX archive_entries_path ON archive_entries (path) WHERE outcome = 'extracted';
