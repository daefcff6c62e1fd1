-- Owners and admins are notified when the server disables a webhook endpoint: a notification that is about no job.
ALTER TABLE "notification" ALTER COLUMN "job_id" DROP NOT NULL, ADD COLUMN "endpoint_id" UUID, ADD COLUMN "title" TEXT;

-- It is deleted with its endpoint. The notifications of jobs have no endpoint, so they cost no check.
ALTER TABLE "notification" ADD CONSTRAINT "notification_workspace_id_endpoint_id_fkey" FOREIGN KEY ("workspace_id", "endpoint_id") REFERENCES "webhook_endpoint"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE NOT VALID;

ALTER TABLE notification
  DROP CONSTRAINT notification_type,
  ADD CONSTRAINT notification_type CHECK (type IN ('job_completed', 'job_failed', 'input_needed', 'endpoint_disabled')) NOT VALID,
  ADD CONSTRAINT notification_subject CHECK ((endpoint_id IS NOT NULL) = (type = 'endpoint_disabled') AND (job_id IS NULL) = (type = 'endpoint_disabled')) NOT VALID;
