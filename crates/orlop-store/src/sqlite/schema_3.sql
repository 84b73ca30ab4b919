-- Links by which others may read a session. Who follows one says its id and nothing else.
CREATE TABLE shares (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX shares_by_session ON shares (tenant, user_id, session, created);
