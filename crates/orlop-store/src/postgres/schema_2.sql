-- The calls of the step that a turn is at, by their position in the answer.
CREATE TABLE turn_calls (
    tenant TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    request TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, request, number)
);
