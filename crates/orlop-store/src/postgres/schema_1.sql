CREATE TABLE sessions (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    agent TEXT,
    title TEXT,
    title_folded TEXT,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    message_count BIGINT NOT NULL,
    message_log BIGINT,
    message_next BIGINT NOT NULL,
    native_log BIGINT,
    native_next BIGINT NOT NULL,
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
    id BIGINT PRIMARY KEY,
    body TEXT NOT NULL,
    words TEXT,
    terms TSVECTOR
);
CREATE INDEX items_by_terms ON items USING gin (terms);

CREATE TABLE log_refs (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    log BIGINT NOT NULL,
    PRIMARY KEY (tenant, user_id, session, log)
);
CREATE INDEX log_refs_by_log ON log_refs (log);

CREATE TABLE leases (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    owner TEXT,
    token BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    PRIMARY KEY (tenant, user_id, session)
);

CREATE TABLE turns (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    settled BIGINT NOT NULL,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, request)
);
CREATE INDEX turns_by_number ON turns (tenant, user_id, number);
CREATE INDEX turns_by_session ON turns (tenant, user_id, session, number);
CREATE INDEX turns_open ON turns (number) WHERE settled = 0;

CREATE TABLE signals (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, request, number)
);

CREATE TABLE traces (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, request, number)
);

CREATE TABLE event_counters (
    tenant TEXT COLLATE "C" PRIMARY KEY,
    last BIGINT NOT NULL
);

CREATE TABLE events (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    session TEXT COLLATE "C",
    request TEXT COLLATE "C",
    at TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, seq)
);
CREATE INDEX events_by_session ON events (tenant, user_id, session, seq) WHERE session IS NOT NULL;
CREATE INDEX events_by_request ON events (tenant, user_id, request, seq) WHERE request IS NOT NULL;

CREATE TABLE plugin_states (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    plugin TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    value TEXT,
    PRIMARY KEY (tenant, user_id, session, plugin)
);

CREATE TABLE assets (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C",
    created BIGINT NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, id)
);
CREATE INDEX assets_by_session ON assets (tenant, user_id, session);

CREATE TABLE changes (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    plugin TEXT COLLATE "C" NOT NULL,
    action TEXT NOT NULL,
    at BIGINT NOT NULL,
    undone BIGINT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, session, id)
);

CREATE SEQUENCE log_numbers;
CREATE SEQUENCE turn_numbers;
CREATE SEQUENCE signal_numbers;
CREATE SEQUENCE asset_numbers;

CREATE TABLE health (checked BIGINT NOT NULL);
INSERT INTO health VALUES (0);
