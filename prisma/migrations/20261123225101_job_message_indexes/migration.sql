-- no transaction
-- The job that writes a message, by our id of the message and by the client's.
DROP INDEX CONCURRENTLY IF EXISTS job_message_id;
CREATE INDEX CONCURRENTLY job_message_id ON job (workspace_id, message_id) WHERE message_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS job_message_client_id;
CREATE INDEX CONCURRENTLY job_message_client_id ON job (workspace_id, message_client_id, thread_id) WHERE message_client_id IS NOT NULL;
