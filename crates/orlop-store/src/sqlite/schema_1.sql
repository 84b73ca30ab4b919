CREATE TABLE sessions (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    agent TEXT,
    title TEXT,
    title_folded TEXT,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    message_count INTEGER NOT NULL,
    message_log INTEGER,
    message_next INTEGER NOT NULL,
    native_log INTEGER,
    native_next INTEGER NOT NULL,
    message_pieces TEXT NOT NULL,
    native_pieces TEXT,
    seal TEXT,
    format TEXT,
    metadata TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, id)
);
CREATE INDEX sessions_by_change ON sessions (tenant, user_id, updated, id);

-- The id has the log in its upper and the position in its lower 32 bits.
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    words TEXT
);
-- The words come folded and separated; this tokeniser only splits at the spaces.
CREATE VIRTUAL TABLE item_terms USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

CREATE TABLE log_refs (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session TEXT NOT NULL,
    log INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, session, log)
) WITHOUT ROWID;
CREATE INDEX log_refs_by_log ON log_refs (log);

CREATE TABLE leases (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session TEXT NOT NULL,
    owner TEXT,
    token INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (tenant, user_id, session)
) WITHOUT ROWID;

CREATE TABLE turns (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    request TEXT NOT NULL,
    session TEXT NOT NULL,
    number INTEGER NOT NULL,
    settled INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, request)
);
CREATE INDEX turns_by_number ON turns (tenant, user_id, number);
CREATE INDEX turns_by_session ON turns (tenant, user_id, session, number);
CREATE INDEX turns_open ON turns (number) WHERE settled = 0;

CREATE TABLE signals (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    request TEXT NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, request, number)
) WITHOUT ROWID;

CREATE TABLE traces (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    request TEXT NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, request, number)
) WITHOUT ROWID;

CREATE TABLE event_counters (
    tenant TEXT PRIMARY KEY,
    last INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE events (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    session TEXT,
    request TEXT,
    at TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, seq)
);
CREATE INDEX events_by_session ON events (tenant, user_id, session, seq) WHERE session IS NOT NULL;
CREATE INDEX events_by_request ON events (tenant, user_id, request, seq) WHERE request IS NOT NULL;

CREATE TABLE plugin_states (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session TEXT NOT NULL,
    plugin TEXT NOT NULL,
    version INTEGER NOT NULL,
    value TEXT,
    PRIMARY KEY (tenant, user_id, session, plugin)
);

CREATE TABLE assets (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT,
    created INTEGER NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, id)
) WITHOUT ROWID;
CREATE INDEX assets_by_session ON assets (tenant, user_id, session);

CREATE TABLE changes (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session TEXT NOT NULL,
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    plugin TEXT NOT NULL,
    action TEXT NOT NULL,
    at INTEGER NOT NULL,
    undone INTEGER NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, session, id)
);

CREATE TABLE sequences (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO sequences VALUES ('log_numbers', 0), ('turn_numbers', 0), ('signal_numbers', 0), ('asset_numbers', 0);

CREATE TABLE health (checked INTEGER NOT NULL);
INSERT INTO health VALUES (0);
