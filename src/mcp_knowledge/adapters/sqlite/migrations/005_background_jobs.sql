-- What nobody waits for goes last: a background job is claimed when no other is due.
ALTER TABLE jobs ADD COLUMN background INTEGER NOT NULL DEFAULT 0;
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (background, visible_at_ms) WHERE status IN ('queued', 'running', 'retrying');

-- Vectors of a large document that is not written yet: an interrupted ingestion goes on with them.
CREATE TABLE early_vectors (
    document_no INTEGER NOT NULL REFERENCES documents,
    passage BLOB NOT NULL,                   -- BLAKE2b-128 of the text that the model read, keyed with the model
    vector BLOB NOT NULL,                    -- float32, little-endian
    PRIMARY KEY (document_no, passage)
) WITHOUT ROWID;
