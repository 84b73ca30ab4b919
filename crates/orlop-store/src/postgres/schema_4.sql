-- Whether native history is sealed to the messages and lies side by side with them. Nobody knows of what was
-- written before; those sessions are read once.
ALTER TABLE sessions ADD COLUMN side_by_side BIGINT NOT NULL DEFAULT 0;
