-- Keys of programs. Of a secret only the SHA-256 is kept, and its first characters for people to know it by.
CREATE TABLE api_keys (
    key_no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    scopes TEXT NOT NULL,                    -- JSON list: read, write, admin
    created_at_ms INTEGER NOT NULL,
    last_used_at_ms INTEGER                  -- a full minute
);

-- Failed tries to log in of the last minutes, by address.
CREATE TABLE login_attempts (
    source TEXT PRIMARY KEY,
    times_ms TEXT NOT NULL,                  -- JSON list
    newest_at_ms INTEGER NOT NULL
) WITHOUT ROWID;
