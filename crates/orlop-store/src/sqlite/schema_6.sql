-- A position names a message as long as the messages are those that somebody saw, whatever else changes.
ALTER TABLE sessions ADD COLUMN messages_revision INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET messages_revision = revision;
