-- Named sets of judged queries.
CREATE TABLE evaluation_sets (
    set_no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,           -- as in collections
    description TEXT,
    baseline_run_no INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
);
CREATE INDEX evaluation_sets_created ON evaluation_sets (created_at_ms, id);

-- A query and which documents answer it. Documents are named by their ids and may be gone.
CREATE TABLE evaluation_cases (
    case_no INTEGER PRIMARY KEY AUTOINCREMENT,
    set_no INTEGER NOT NULL REFERENCES evaluation_sets ON DELETE CASCADE,
    id TEXT NOT NULL,
    query TEXT NOT NULL,
    query_digest BLOB NOT NULL,              -- BLAKE2b-128 of the query in the form in which queries are compared
    relevant TEXT NOT NULL,                  -- JSON list of document ids
    wrong TEXT NOT NULL,                     -- the same
    unresolved TEXT NOT NULL,                -- JSON list of names of documents that were not found
    no_answer INTEGER NOT NULL,
    kind TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
);
CREATE UNIQUE INDEX evaluation_cases_id ON evaluation_cases (set_no, id);
CREATE UNIQUE INDEX evaluation_cases_query ON evaluation_cases (set_no, query_digest);
CREATE INDEX evaluation_cases_order ON evaluation_cases (set_no, case_no);

CREATE TABLE evaluation_runs (
    run_no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    set_no INTEGER NOT NULL REFERENCES evaluation_sets ON DELETE CASCADE,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,                  -- JSON: domain/evaluations.py says what is in it
    state TEXT NOT NULL,                     -- queued, running, completed, failed, interrupted
    heartbeat_at_ms INTEGER NOT NULL,        -- of the process that has it
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    index_configuration TEXT NOT NULL,       -- JSON
    corpus_version TEXT NOT NULL,
    metrics TEXT,                            -- JSON, when completed
    error TEXT,                              -- CODE: message
    created_at_ms INTEGER NOT NULL,
    completed_at_ms INTEGER
);
CREATE INDEX evaluation_runs_created ON evaluation_runs (set_no, created_at_ms, id);

CREATE TABLE evaluation_results (
    run_no INTEGER NOT NULL REFERENCES evaluation_runs ON DELETE CASCADE,
    position INTEGER NOT NULL,               -- in the order of the cases, from 0
    result TEXT NOT NULL,                    -- JSON
    PRIMARY KEY (run_no, position)
) WITHOUT ROWID;
