-- The full text, one row per chunk: written and removed by adapters/postgres/lexicon.py alone, with its counts.
CREATE TABLE chunk_terms (
    chunk_no bigint PRIMARY KEY,
    document_no bigint NOT NULL,
    size integer NOT NULL,                   -- tokens of title, headings and content
    frequencies sparsevec NOT NULL,          -- 8 · in the title + 4 · in the headings + in the content, by hashed term
    terms tsvector NOT NULL                  -- content D, title A, headings B, with gaps that no phrase crosses
);
-- A search reads the frequencies of every row that matches, but positions only for phrases: those lie apart.
ALTER TABLE chunk_terms ALTER COLUMN frequencies SET STORAGE MAIN;
ALTER TABLE chunk_terms ALTER COLUMN terms SET STORAGE EXTERNAL;
ALTER TABLE chunk_terms SET (toast_tuple_target = 1024);
CREATE INDEX chunk_terms_document ON chunk_terms (document_no);
-- A short list of what is not sorted in yet costs a search less than a millisecond, and half of the writing is saved.
CREATE INDEX chunk_terms_terms ON chunk_terms USING gin (terms) WITH (fastupdate = on, gin_pending_list_limit = 256);

-- In how many chunks each term occurs, and how large the full text is: what was folded in, and beside it the changes
-- since, one row a transaction, so that writers never wait for each other. Their sum is exact in every snapshot.
CREATE TABLE term_counts (
    term text COLLATE "C" PRIMARY KEY,
    chunks bigint NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE text_totals (
    chunks bigint NOT NULL,
    tokens bigint NOT NULL
);
INSERT INTO text_totals VALUES (0, 0);
CREATE TABLE term_changes (
    chunks bigint NOT NULL,
    tokens bigint NOT NULL,
    terms integer NOT NULL,                  -- how many `counts` has
    counts jsonb NOT NULL                    -- chunks by term, negative for those that went
);
ALTER TABLE term_changes ALTER COLUMN counts SET STORAGE EXTERNAL;
