-- no transaction
-- A second notification of one cause is impossible for jobs; those of endpoints have none, and each of their users gets one.
DROP INDEX CONCURRENTLY IF EXISTS notification_of_jobs;
CREATE UNIQUE INDEX CONCURRENTLY notification_of_jobs ON notification (workspace_id, job_id, type, interrupt_id) NULLS NOT DISTINCT WHERE job_id IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS "notification_workspace_id_job_id_type_interrupt_id_key";
-- Deletes the notifications of an endpoint.
DROP INDEX CONCURRENTLY IF EXISTS notification_of_endpoints;
CREATE INDEX CONCURRENTLY notification_of_endpoints ON notification (workspace_id, endpoint_id) WHERE endpoint_id IS NOT NULL;
ALTER TABLE notification VALIDATE CONSTRAINT notification_type;
ALTER TABLE notification VALIDATE CONSTRAINT notification_subject;
ALTER TABLE notification VALIDATE CONSTRAINT "notification_workspace_id_endpoint_id_fkey";
