-- The calls of the step that a turn is at, by their position in the answer.
CREATE TABLE turn_calls (
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,
    request TEXT NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, user_id, request, number)
) WITHOUT ROWID;
