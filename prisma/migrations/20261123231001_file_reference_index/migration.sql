-- no transaction
-- The retention of files asks which messages refer to a file. Messages without a file are not in the index.
DROP INDEX CONCURRENTLY IF EXISTS message_files;
CREATE INDEX CONCURRENTLY message_files ON message USING gin (content jsonb_path_ops) WHERE content @> '[{"type": "file"}]';
