-- Links by which others may read a session. Who follows one says its id and nothing else.
CREATE TABLE shares (
    id TEXT COLLATE "C" PRIMARY KEY,
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    secret_hash TEXT NOT NULL,
    created BIGINT NOT NULL
);
CREATE INDEX shares_by_session ON shares (tenant, user_id, session, created);
