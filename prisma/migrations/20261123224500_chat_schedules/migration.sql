-- A schedule starts a workflow or a chat.
ALTER TABLE "workflow_schedule" ADD COLUMN "chat" JSONB,
ADD COLUMN "user_id" UUID,
ALTER COLUMN "workflow_id" DROP NOT NULL;
ALTER TABLE workflow_schedule ADD CONSTRAINT workflow_schedule_target CHECK ((workflow_id IS NULL) <> (chat IS NULL)) NOT VALID;
