-- The scanned folder: what is known of each file, so that a scan reads only what changed.
CREATE TABLE folder_files (
    path TEXT PRIMARY KEY,                   -- below the root, with /
    size_bytes INTEGER NOT NULL,
    modified_ns TEXT NOT NULL,               -- decimal: the libsql package rounds integers of this size
    changed_ns TEXT NOT NULL,
    sha256 BLOB,                             -- of what was taken in last; NULL when it was never read
    outcome TEXT NOT NULL,                   -- domain/folder.py names them; a `document` without a live one is `deleted`
    metadata TEXT,                           -- what the manifest gave it when it was taken in, JSON; NULL is {}
    reason TEXT,                             -- why it gave no document
    document_no INTEGER,
    archive_no INTEGER
) WITHOUT ROWID;
CREATE INDEX folder_files_sha256 ON folder_files (sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX folder_files_document ON folder_files (document_no) WHERE document_no IS NOT NULL;
CREATE INDEX folder_files_outcome ON folder_files (outcome) WHERE outcome <> 'document';

-- Once the new document is ready, the one that it replaces is deleted in the same transaction.
ALTER TABLE documents ADD COLUMN replaces_no INTEGER;
