-- Those that are pinned or put away are few among many; looking for them must not read all others.
CREATE INDEX sessions_pinned ON sessions (tenant, user_id, updated, id) WHERE instr(metadata, '"pinned":true') > 0;
CREATE INDEX sessions_archived ON sessions (tenant, user_id, updated, id) WHERE instr(metadata, '"archived":true') > 0;
