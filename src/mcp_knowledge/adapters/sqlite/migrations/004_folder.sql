-- The scanned folder: what is known of each file, so that a scan reads only what changed.
CREATE TABLE folder_files (
    path TEXT PRIMARY KEY,                   -- below the root, with /
    size_bytes INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    sha256 BLOB,                             -- NULL when it was not read
    outcome TEXT NOT NULL,                   -- queued, duplicate, unsupported, oversized, failed, archive
    document_no INTEGER,
    archive_no INTEGER,
    error TEXT                               -- CODE: message, for a file that gave no document
) WITHOUT ROWID;

-- Once the new document is ready, the one that it replaces is deleted in the same transaction.
ALTER TABLE documents ADD COLUMN replaces_no INTEGER;
